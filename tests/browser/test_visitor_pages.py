"""Visitors' pages in a real browser: pixels, sandboxed scripts, frames, apps, consent and limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, BrowserType, Page, expect
from werkzeug.serving import make_server

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.domains.models import Domain
from app.links.models import Link, PlanChange
from app.pixels.provider import all_providers
from app.public.interstitials import LATEST_MS
from app.redirects.wsgi import Front
from tests.browser.conftest import ELSEWHERE
from tests.browser.visitors import CALLS, Outside, Shop, until
from tests.factories import PASSWORD, Factory
from tests.server import BROWSER

pytestmark = [pytest.mark.browser, pytest.mark.full]

PHONE = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1"


# browsers treat `127.0.0.1` as a secure context although it is plain http; the first of these is none
SITES = {"insecure": f"http://{ELSEWHERE}", "local": "http://127.0.0.1", "https": f"https://{ELSEWHERE}"}


@pytest.fixture
def site(app: Flask, request: pytest.FixtureRequest) -> Iterator[str]:
    """The application behind its redirect front, as it is served. A test's parameter may change the host."""
    kind = getattr(request, "param", "local")
    front = Front(app.wsgi_app, app.extensions["redirects"])
    secured = {"ssl_context": "adhoc"} if kind == "https" else {}
    server = make_server("127.0.0.1", 0, front, threaded=True, **secured)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"{SITES[kind]}:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """Headless Chromium says so in its User-Agent and counts as a bot. Our certificate is self-signed."""
    return {**browser_context_args, "user_agent": BROWSER, "ignore_https_errors": True}


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop() as shop:
        yield shop


@pytest.fixture
def there(shop: Shop) -> str:
    return f"{shop.url}/there?a=%zz#b"


@pytest.fixture
def outside(context: BrowserContext, site: str) -> Iterator[Outside]:
    outside = Outside(context, site)
    yield outside
    for route in outside.held:
        route.abort()


@pytest.fixture
def link(factory: Factory, alice: User, there: str) -> Callable[..., Link]:
    """`link("a", pixels=[("social_a", "123")], title=…)`: a link that alice owns."""

    def link(url: str, pixels: list[tuple[str, str]] | None = None, **columns: Any) -> Link:
        made = factory.link(alice, url, **{"location_url": there, **columns})
        made.pixels = [factory.pixel(alice, type_, pixel=pixel) for type_, pixel in pixels or []]
        factory.session.commit()
        return made

    return link


@pytest.fixture
def change(app: Flask, factory: Factory) -> Callable[..., None]:
    """Change a link, and invalidate the application's copy of it."""

    def change(link: Link, **columns: Any) -> None:
        for name, value in columns.items():
            setattr(link, name, value)
        factory.session.add(PlanChange(domain_id=link.domain_id or 0, alias=link.url.casefold()))
        factory.session.commit()
        app.extensions["redirects"].compiled_links.poll()

    return change


# --- pixels

EXPECTED = {
    "social_a": lambda id_: [["init", id_], ["track", "PageView"]],
    "analytics_a": lambda id_: [["config", id_]],
    "tagmanager_a": lambda id_: [id_, "gtm.js"],
    "social_b": lambda id_: [id_],
    "social_c": lambda id_: [["load", id_], ["page"]],
    "social_d": lambda id_: [["config", id_]],
    "social_e": lambda id_: [["init", id_], ["track", "ViewContent"]],
    "social_f": lambda id_: [id_, [["page"]]],
    "social_g": lambda id_: [["init", id_], ["track", "PAGE_VIEW"]],
}


def said(outside: Outside) -> dict[str, Any]:
    return {one["type"]: one["calls"] for one in outside.said}


def test_all_providers_on_one_page(
    page: Page, outside: Outside, link: Callable[..., Link], site: str, there: str
) -> None:
    link("a", [(type_, all_providers()[type_].example) for type_ in CALLS], title="Spring")
    page.goto(f"{site}/a")
    page.wait_for_url(there)
    found = said(outside)
    # one queue for both of Google's: gtag's own call comes before the container's
    assert found.pop("tagmanager_a")[0] == all_providers()["tagmanager_a"].example
    assert found == {type_: EXPECTED[type_](all_providers()[type_].example) for type_ in found}
    assert len(found) == len(CALLS) - 1
    assert {one["title"] for one in outside.said} == {"Spring"}


def test_waits_for_those_that_are_not_blocked(
    page: Page, outside: Outside, link: Callable[..., Link], site: str, there: str
) -> None:
    link("a", [("social_a", "123"), ("social_g", "456")])
    outside.answers = {"https://connect.facebook.net": None}
    page.clock.install()
    page.clock.pause_at(4102444800)
    page.goto(f"{site}/a", wait_until="commit")
    until(page, lambda: outside.said, "the other provider's script")
    assert page.url == f"{site}/a"
    page.clock.run_for(LATEST_MS)
    page.wait_for_url(there)


def test_a_destination_that_is_a_file(
    page: Page, outside: Outside, link: Callable[..., Link], site: str, shop: Shop
) -> None:
    shop.headers = [
        ("Content-Type", "application/zip"),
        ("Content-Disposition", "attachment; filename=a.zip"),
    ]
    link("a", [("social_a", "123")])
    with page.expect_download() as download:
        page.goto(f"{site}/a")
    assert download.value.suggested_filename == "a.zip"


# --- hostile scripts

# each attempt and its result: what it reads, or the name of the error
ATTEMPTS = """(async function () {
  const found = {"secure": self.isSecureContext};
  async function attempt(name, what) {
    try { found[name] = await what(); } catch (error) { found[name] = "refused: " + error.name; }
  }
  const text = async (path, how) => (await fetch(path, how)).text();
  await attempt("origin", () => new Promise(done => {
    addEventListener("message", event => { if (event.data === "mine") { done(event.origin); } });
    window.postMessage("mine", "*");
  }));
  await attempt("cookie", () => document.cookie);
  await attempt("storage", () => JSON.stringify([localStorage, sessionStorage]));
  await attempt("cookie of a frame", () => {
    const frame = document.createElement("iframe");
    document.body.append(frame);
    return frame.contentDocument.cookie + frame.contentWindow.localStorage.length;
  });
  await attempt("api", () => text("/api/user", {"credentials": "include"}));
  await attempt("dashboard", () => text("/dashboard/links/", {"credentials": "include"}));
  await attempt("locked", () => text("/locked", {"credentials": "include"}));
  await attempt("request", () => new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.withCredentials = true;
    request.onload = () => done(request.responseText);
    request.onerror = () => failed(new Error());
    request.open("GET", "/dashboard/links/");
    request.send();
  }));
  await attempt("frame", () => new Promise((done, failed) => {
    const frame = document.createElement("iframe");
    frame.onload = () => { try { done(frame.contentWindow.document.body.innerText); } catch (error) { failed(error); } };
    frame.src = "/dashboard/links/";
    document.body.append(frame);
    setTimeout(() => failed(new Error()), 300);
  }));
  await attempt("parent", () => parent === window ? "none" : parent.document.title);
  await attempt("opened", () => String(window.open("/dashboard/links/")));
  await attempt("form", () => {
    const form = document.createElement("form");
    form.method = "post";
    form.action = "/dashboard/account";
    document.body.append(form);
    form.submit();
    return "sent";
  });
  await attempt("database", () => new Promise((done, failed) => {
    const asked = indexedDB.open("x");
    asked.onsuccess = () => done("opened");
    asked.onerror = () => failed(asked.error);
  }));
  await attempt("caches", async () => (await caches.keys()).length);
  await attempt("cookie store", async () => JSON.stringify(await cookieStore.getAll()));
  await attempt("files", async () => String(await navigator.storage.getDirectory()));
  await attempt("shared worker", () => String(new SharedWorker("/locked").port));
  await attempt("storage access", async () => { await document.requestStorageAccess(); return document.cookie; });
  await attempt("worker", async () => String(await navigator.serviceWorker.register("/locked")));
  if (parent !== window) { await attempt("top", () => { top.location = "/dashboard/"; return "moved"; }); }
  console.log("said " + JSON.stringify({"type": "attempts", "calls": found}));
})();"""
KEEP = "document.cookie = 'mine=1; path=/'; localStorage.mine = sessionStorage.mine = '1';"
REFUSED = [
    "cookie of a frame", "api", "dashboard", "locked", "request", "frame", "worker", "database", "caches",
    "cookie store", "files", "shared worker", "storage access",
]  # fmt: skip


def sign_in(page: Page, site: str) -> None:
    page.goto(f"{site}/login")
    page.fill("[name=email]", "alice@example.com")
    page.fill("[name=password]", PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/dashboard/**")


def unlock(page: Page, site: str) -> None:
    page.goto(f"{site}/locked")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("http://shop.localhost:*/**")


WAYS_IN = {
    "a cloaked link's own script": ({"cloaking_is_enabled": True, "cloaking_custom_js": ATTEMPTS}, []),
    "a tag manager on a cloaked link": ({"cloaking_is_enabled": True}, [("tagmanager_a", "GTM-1")]),
    "a tag manager on the way": ({}, [("tagmanager_a", "GTM-1")]),
    "a provider on the way": ({}, [("social_a", "123")]),
}


@pytest.mark.parametrize(("columns", "pixels"), WAYS_IN.values(), ids=WAYS_IN)
def test_a_boxed_script_reaches_nothing(
    columns: dict[str, Any], pixels: Any, context: BrowserContext, page: Page, outside: Outside,
    link: Callable[..., Link], site: str,
) -> None:  # fmt: skip
    reaches_nothing(columns, pixels, context, page, outside, link, site)


@pytest.mark.parametrize(
    ("site", "way"),
    [("insecure", "a cloaked link's own script"), ("https", "a tag manager on a cloaked link")],
    indirect=["site"],
)
def test_nor_where_browsers_give_scripts_more_or_less(
    way: str, context: BrowserContext, page: Page, outside: Outside, link: Callable[..., Link], site: str
) -> None:
    """A secure context adds service workers, caches and a cookie store, and another name of our cookie."""
    reaches_nothing(*WAYS_IN[way], context, page, outside, link, site)
    is_https = site.startswith("https:")
    assert page.evaluate("isSecureContext") is is_https
    assert {cookie["name"] for cookie in context.cookies(site)} >= {
        "__Host-waypost" if is_https else "waypost"
    }


def reaches_nothing(
    columns: dict[str, Any], pixels: Any, context: BrowserContext, page: Page, outside: Outside,
    link: Callable[..., Link], site: str,
) -> None:  # fmt: skip
    link("locked", sensitive_content=True)
    link("a", pixels, **columns)
    evil = {"body": ATTEMPTS, "content_type": "text/javascript"}
    outside.answers = {"https://www.googletagmanager.com": evil, "https://connect.facebook.net": evil}
    sign_in(page, site)
    page.evaluate(KEEP)
    unlock(page, site)
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request))
    page.goto(f"{site}/a")
    until(page, lambda: said(outside).get("attempts"), "the script's report")
    found = said(outside)["attempts"]
    assert found["origin"] == "null", "whatever the document says of itself"
    assert (found["cookie"], found["storage"]) == ("", "[{},{}]"), "a memory of its own"
    assert {name: found[name] for name in REFUSED if not found[name].startswith("refused: ")} == {}
    assert found["parent"] == "none" or found["parent"].startswith("refused: ")
    assert found["opened"] == "null"
    assert found.get("top", "refused: ").startswith("refused: ")
    assert not [one for one in requests if one.method == "POST"]
    assert len(context.pages) == 1


@pytest.mark.settings(DASHBOARD_URL="http://desk.localhost")
def test_apart_from_the_dashboard_providers_have_the_pages_origin_and_owners_scripts_have_not(
    page: Page, outside: Outside, link: Callable[..., Link], site: str, there: str
) -> None:
    outside.answers = {
        "https://connect.facebook.net": {
            "body": ORIGIN % ("provider", "provider"),
            "content_type": "text/javascript",
        },
        "https://www.googletagmanager.com": {
            "body": ORIGIN % ("container", "container"),
            "content_type": "text/javascript",
        },
    }
    link("a", [("social_a", "1"), ("tagmanager_a", "GTM-1")])
    page.goto(f"{site}/a")
    page.wait_for_url(there)
    assert said(outside) == {"provider": site, "container": "null"}
    outside.said.clear()
    script = ORIGIN % ("script", "script")
    link("b", [("social_a", "1")], cloaking_is_enabled=True, cloaking_custom_js=script)
    page.goto(f"{site}/b")
    until(page, lambda: len(outside.said) == 2, "both scripts")
    assert said(outside) == {"provider": site, "script": "null"}


ORIGIN = """addEventListener("message", event => {
  if (event.data === "%s") { console.log("said " + JSON.stringify({"type": event.data, "calls": event.origin})); }
});
window.postMessage("%s", "*");"""


def test_on_the_owners_own_domain_his_script_has_its_origin(
    page: Page, outside: Outside, factory: Factory, alice: User, link: Callable[..., Link], site: str
) -> None:
    own = site.replace("127.0.0.1", "go.localhost")
    domain = factory.add(
        Domain(**access_of(alice).row_columns, host="go.localhost", is_verified=True, token="x")
    )
    link(
        "a",
        [("tagmanager_a", "GTM-1")],
        domain_id=domain.id,
        cloaking_is_enabled=True,
        cloaking_custom_js=ORIGIN % ("script", "script"),
    )
    outside.answers = {
        "https://www.googletagmanager.com": {
            "body": ORIGIN % ("container", "container"),
            "content_type": "text/javascript",
        }
    }
    page.goto(f"{own}/a")
    until(page, lambda: len(outside.said) == 2, "both scripts")
    assert said(outside) == {"container": own, "script": own}
    assert page.locator("iframe").count() == 1


# --- the frame

KEEPS = """<!doctype html><title>Inside</title><p id="kept"></p><script>
document.cookie = "mine=1; SameSite=None; Secure; Path=/";
localStorage.setItem("mine", "2");
document.getElementById("kept").textContent = document.cookie + " " + localStorage.getItem("mine") + " " + self.origin;
</script>"""


@pytest.fixture
def lenient(
    browser_type: BrowserType, browser_type_launch_args: Any, tmp_path: Path
) -> Iterator[BrowserContext]:
    """A browser that allows third-party frames to have cookies, which Chromium blocks by default."""
    preferences = tmp_path / "profile" / "Default" / "Preferences"
    preferences.parent.mkdir(parents=True)
    preferences.write_text(json.dumps({"profile": {"cookie_controls_mode": 0}}))
    arguments = {**browser_type_launch_args, "user_agent": BROWSER, "viewport": {"width": 390, "height": 844}}
    context = browser_type.launch_persistent_context(tmp_path / "profile", **arguments)
    yield context
    context.close()


@pytest.mark.parametrize("script", [None, "1"])
def test_the_framed_destination_keeps_its_own_cookies_and_storage(
    script: str | None, lenient: BrowserContext, link: Callable[..., Link], site: str, shop: Shop
) -> None:
    shop.page = KEEPS
    pixels = [("social_a", "1")] if script else []
    link("a", pixels, cloaking_is_enabled=True, cloaking_title="Mine", cloaking_custom_js=script)
    Outside(lenient, site)
    page = lenient.new_page()
    page.goto(f"{site}/a")
    expect(page.frame_locator("iframe[title=Mine]").locator("#kept")).to_have_text(f"mine=1 2 {shop.url}")
    expect(page).to_have_title("Mine")
    assert page.locator("iframe[title=Mine]").bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


# --- apps

WATCH = "https://www.youtube.com/watch?v=abc"


def test_an_app_that_does_not_open_falls_back_to_the_web_address(
    browser: Browser, link: Callable[..., Link], site: str
) -> None:
    link("a", [("social_a", "123")], app_linking_is_enabled=True, location_url=WATCH)
    context = browser.new_context(user_agent=PHONE)
    outside = Outside(context, site)
    outside.answers = {WATCH: {"body": "a film"}}
    page = context.new_page()
    page.goto(f"{site}/a")
    expect(page).to_have_url(WATCH)
    assert said(outside) == {"social_a": EXPECTED["social_a"]("123")}
    context.close()


TAPPED = "https://www.reddit.com/r/cats/comments/1/x/"
# the page's clock stands still except for the time that a test lets pass
FROZEN = 4_102_444_800


@pytest.mark.parametrize(
    ("address", "opened", "pixels"),
    [(WATCH, "vnd.youtube:", []), (TAPPED, None, [("social_a", "123")])],
    ids=["alone", "with pixels"],
)
def test_on_an_iphone_the_web_address_follows_after_two_seconds(
    address: str, opened: str | None, pixels: Any, browser: Browser, link: Callable[..., Link], site: str
) -> None:
    link("a", pixels, app_linking_is_enabled=True, location_url=address)
    context = browser.new_context(user_agent=IPHONE)
    outside = Outside(context, site)
    outside.answers = {address: {"body": "the web"}}
    page = context.new_page()
    page.clock.install(time=FROZEN)
    page.clock.pause_at(FROZEN + 1)
    context.add_init_script(TRIED)
    page.goto(f"{site}/a")
    if pixels:
        until(page, lambda: outside.said, "the provider's script")
        page.clock.run_for(LATEST_MS)
    if opened:
        until(page, lambda: page.evaluate("window.tried.length"), "the app's address")
        assert page.evaluate("window.tried")[0].startswith(opened)
    page.clock.run_for(2000 - 1 - (LATEST_MS if pixels and not opened else 0))
    assert page.url == f"{site}/a"
    page.clock.run_for(1)
    page.wait_for_url(address)
    context.close()


# records the addresses that the page navigates to
TRIED = """window.tried = [];
navigation.addEventListener("navigate", event => { window.tried.push(event.destination.url); });"""


# --- consent


@pytest.mark.settings(PIXEL_CONSENT="ask")
@pytest.mark.parametrize("status", [302, 307])
def test_consent_is_asked_and_both_answers_lead_on(
    status: int, page: Page, outside: Outside, link: Callable[..., Link], site: str, there: str
) -> None:
    link("a", [("social_a", "123"), ("social_f", "456")], http_status_code=status)
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request))
    page.goto(f"{site}/a")
    expect(page.get_by_text("Meta (Facebook) and TikTok")).to_be_visible()
    assert outside.asked == []
    page.get_by_role("button", name="Continue without it").click()
    page.wait_for_url(there)
    assert not outside.said
    assert requests[-1].method == "GET"
    page.goto(f"{site}/a")
    page.get_by_role("button", name="Allow and continue").click()
    page.wait_for_url(there)
    assert set(said(outside)) == {"social_a", "social_f"}
    assert page.context.cookies() == []


@pytest.mark.settings(PIXEL_CONSENT="ask")
def test_consent_before_a_frame(page: Page, outside: Outside, link: Callable[..., Link], site: str) -> None:
    link("a", [("social_a", "123")], cloaking_is_enabled=True, cloaking_title="Mine")
    for button, fired in (
        ("Continue without it", {}),
        ("Allow and continue", {"social_a": EXPECTED["social_a"]("123")}),
    ):
        page.goto(f"{site}/a")
        page.get_by_role("button", name=button).click()
        expect(page.frame_locator("iframe[title=Mine]").get_by_role("heading")).to_have_text("There")
        until(page, lambda fired=fired: said(outside) == fired, button)


# --- forms reach the destination although the policy names no target for them


# --- no browser caches a redirect
