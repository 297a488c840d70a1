"""Sending forms: once, without loss, with a slow server, a stopped one, or wrong input."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, Locator, Page, expect
from sqlalchemy import func, select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.serving import BaseWSGIServer, make_server

from app.accounts.models import User
from app.projects.models import Project
from tests.browser.conftest import SECONDS, Watch
from tests.server import free_port, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.full]
LOST = "There is no connection to the server."


class Site:
    """The application at a fixed port. It can be stopped and restarted, and hold back writing requests."""

    def __init__(self, app: Flask) -> None:
        self.app, self.port = app, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.writes: list[str] = []
        self.is_open = threading.Event()
        self.is_open.set()
        self.server: BaseWSGIServer | None = None
        self.start()

    def answer(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        asks_first = environ["PATH_INFO"] == "/login/session"  # as each form does before it is sent
        if asks_first or (
            environ["REQUEST_METHOD"] != "GET" and not environ["PATH_INFO"].endswith("/preview")
        ):
            self.is_open.wait(SECONDS)
        if environ["REQUEST_METHOD"] == "POST":
            self.writes.append(environ["PATH_INFO"])
        return self.app.wsgi_app(environ, start_response)

    def start(self) -> None:
        self.server = make_server("127.0.0.1", self.port, self.answer, threaded=True)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self) -> None:
        if self.server:
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()
        self.server = None


@pytest.fixture
def own_site(app: Flask) -> Iterator[Site]:
    site = Site(app)
    yield site
    site.is_open.set()
    site.stop()


@pytest.fixture
def site(own_site: Site) -> str:
    return own_site.url


def count(session: scoped_session[Session], model: Any) -> int:
    session.rollback()
    return session.scalar(select(func.count()).select_from(model)) or 0


def said(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text=text).first).to_be_visible()


def forgive(watch: Watch) -> None:
    """Check that the console has only the failed requests of a stopped server, and forget these."""
    noted = ("ERR_CONNECTION_REFUSED", "htmx:afterRequest", "htmx:sendError")
    assert [one for one in watch.complaints if not any(word in one for word in noted)] == []
    watch.complaints.clear()


def sign(page: Page) -> Locator:
    return page.locator("#progress")


def in_dialog(page: Page, site: str) -> tuple[Locator, Locator]:
    page.goto(f"{site}/dashboard/projects/")
    page.get_by_role("link", name="Create project").click()
    dialog = page.get_by_role("dialog")
    return dialog.get_by_label("Name"), dialog.get_by_role("button", name="Create project")


def on_a_page(page: Page, site: str) -> tuple[Locator, Locator]:
    page.goto(f"{site}/dashboard/projects/new")
    return page.get_by_label("Name"), page.get_by_role("button", name="Create project")


PLACES = {"in a dialog": in_dialog, "on a page": on_a_page}


@pytest.mark.parametrize("place", PLACES)
def test_sent_once_to_a_slow_server(
    place: str, desk: Page, own_site: Site, session: scoped_session[Session]
) -> None:
    """The progress sign appears after 150 ms, and disappears with the answer."""
    field, button = PLACES[place](desk, own_site.url)
    field.fill("Spring")
    expect(sign(desk)).to_have_css("opacity", "0")
    own_site.writes.clear()
    own_site.is_open.clear()
    button.dblclick()
    expect(sign(desk)).to_have_css("opacity", "1")
    expect(sign(desk)).to_have_css("transition-delay", "0.15s")
    desk.keyboard.press("Enter")
    desk.keyboard.press("Enter")
    own_site.is_open.set()
    said(desk, "Spring is created.")
    expect(sign(desk)).to_have_css("opacity", "0")
    assert own_site.writes == ["/dashboard/projects/new"]
    assert count(session, Project) == 1


@pytest.mark.parametrize("place", PLACES)
def test_a_server_that_is_away_loses_nothing(
    place: str, desk: Page, own_site: Site, watch: Watch, session: scoped_session[Session]
) -> None:
    field, button = PLACES[place](desk, own_site.url)
    field.fill("Spring")
    own_site.stop()
    button.click()
    said(desk, LOST)
    expect(field).to_have_value("Spring")
    expect(sign(desk)).to_have_css("opacity", "0")
    own_site.start()
    button.click()
    said(desk, "Spring is created.")
    assert count(session, Project) == 1
    forgive(watch)


@pytest.mark.parametrize(("chosen", "system"), [("light", "dark"), ("dark", "light")])
def test_the_colours_are_right_from_the_first_picture(
    chosen: str, system: str, browser: Browser, own_site: Site, alice: User, sign_in: Any
) -> None:
    """The background is right in every painted frame, and before the style sheet has arrived."""
    context = browser.new_context(color_scheme=system)  # type: ignore[arg-type]
    context.add_cookies([{"name": "waypost_theme", "value": chosen, "url": own_site.url}])
    page = sign_in(context, alice)
    page.add_init_script(
        """addEventListener("DOMContentLoaded", () => (window.isRead = true)); window.seen = [];
        (function look() {
            if (document.body) seen.push(getComputedStyle(document.documentElement).backgroundColor);
            if (seen.length < 20) requestAnimationFrame(look);
        })();"""
    )
    page.reload()
    wait_for(lambda: page.evaluate("seen.length") >= 20, "twenty frames")
    final = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert set(page.evaluate("seen")) == {final}
    light = sum(int(part) for part in final[4:-1].split(",")) > 3 * 128
    assert light == (chosen == "light")
    expect(page.locator("meta[name=color-scheme]")).to_have_attribute("content", chosen)
    context.close()
