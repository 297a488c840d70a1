"""Fakes of what a visitor's browser meets beside Waypost: pixel providers, destinations, owners' scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Any

from playwright.sync_api import BrowserContext, Page, Route
from werkzeug.serving import make_server

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

# each provider's script address, and the calls that the script finds queued when it runs
CALLS = {
    "social_a": ("https://connect.facebook.net/en_US/fbevents.js", "all(fbq.queue)"),
    "analytics_a": (
        "https://www.googletagmanager.com/gtag/js",
        "all(dataLayer).filter(call => call[0] === 'config')",
    ),
    "tagmanager_a": (
        "https://www.googletagmanager.com/gtm.js",
        "[here.searchParams.get('id'), dataLayer[0].event]",
    ),
    "social_b": ("https://snap.licdn.com/li.lms-analytics/insight.min.js", "all(_linkedin_data_partner_ids)"),
    "social_c": ("https://s.pinimg.com/ct/core.js", "all(pintrk.queue)"),
    "social_d": ("https://static.ads-twitter.com/uwt.js", "all(twq.queue)"),
    "social_e": ("https://a.quora.com/qevents.js", "all(qp.queue)"),
    "social_f": (
        "https://analytics.tiktok.com/i18n/pixel/events.js",
        "[here.searchParams.get('sdkid'), all(ttq)]",
    ),
    "social_g": ("https://sc-static.net/scevent.min.js", "all(snaptr.queue)"),
}
REPORT = """(function () {
  var here = new URL(document.currentScript.src);
  var all = calls => Array.from(calls, call => typeof call === "string" ? call : Array.from(call));
  console.log("said " + JSON.stringify({"type": %s, "calls": %s, "at": location.href, "title": document.title}));
})();"""
HANGS = object()


class Shop:
    """A destination: a real server on another host, because routes can't fake the target of a redirect."""

    def __init__(self) -> None:
        self.page = "<!doctype html><title>There</title><h1>There</h1>"
        self.server = make_server("127.0.0.1", 0, self.answer, threaded=True)
        self.url = f"http://shop.localhost:{self.server.server_port}"
        self.headers: list[tuple[str, str]] = [("Content-Type", "text/html; charset=utf-8")]
        self.referrers: list[str | None] = []  # one for each request for a page

    def answer(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        if environ["PATH_INFO"] != "/favicon.ico":
            self.referrers.append(environ.get("HTTP_REFERER"))
        start_response("200 OK", [*self.headers, ("Cache-Control", "no-store")])
        return [self.page.encode()]

    def __enter__(self) -> Shop:
        self.thread = Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Outside:
    """All hosts that are not Waypost, as one browser sees them. No request leaves the machine."""

    def __init__(self, context: BrowserContext, site: str) -> None:
        self.site = site
        self.asked: list[str] = []
        self.said: list[dict[str, Any]] = []
        self.answers: dict[str, Any] = {}
        self.held: list[Route] = []
        context.route(lambda url: not url.startswith(("http://", f"{site}/")), self.answer)
        context.on("console", lambda message: self.hear(message.text))

    def answer(self, route: Route) -> None:
        url = route.request.url
        self.asked.append(url)
        for begin, answer in self.answers.items():
            if url.startswith(begin):
                return self.give(route, answer)
        for type_, (address, calls) in CALLS.items():
            if url.startswith(address):
                return route.fulfill(body=REPORT % (json.dumps(type_), calls), content_type="text/javascript")
        return route.fulfill(status=204)

    def give(self, route: Route, answer: Any) -> None:
        if answer is HANGS:
            self.held.append(route)
        elif answer is None:
            route.abort()
        else:
            route.fulfill(**answer)

    def hear(self, text: str) -> None:
        if text.startswith("said "):
            self.said.append(json.loads(text.removeprefix("said ")))

    def pictures(self, begin: str) -> list[str]:
        return [url for url in self.asked if url.startswith(begin)]


def until(page: Page, condition: Callable[[], object], what: str) -> None:
    """Wait for something outside of the page while its events go on."""
    for _ in range(300):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{what} did not come")
