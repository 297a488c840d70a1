"""Fixtures for browser tests: the running application, and pages of a real Chromium.

The application runs in a thread of the test's own process, so that a test can look at the rows. A message
in a page's console, or a request to another host, fails the test at its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import BrowserContext, ConsoleMessage, Error, Page, Request, Response, expect
from sqlalchemy.orm import Session, scoped_session
from werkzeug.serving import make_server

from app.accounts.models import User
from app.dashboard.links import framing_check
from tests.factories import PASSWORD

ELSEWHERE = "links.example"  # the browser takes it for any other host, but it is this machine
QUIET = [
    f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Chromium logs each 4xx response; forms answer with these when something in them is wrong
# (and axe, the accessibility checker, tries styles of its own, which the pages' policy refuses)
EXPECTED = re.compile(
    r"Failed to load resource: the server responded with a status of 4(09|13|22) |Applying inline style violates"
)
SECONDS = 60  # to wait for what a page does next: a busy machine may take long
expect.set_options(timeout=SECONDS * 1000)


@pytest.fixture(scope="session")
def base_url() -> None:
    """None: tests use full addresses. (The plugin's own fixture makes a newer pytest warn.)"""


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_type_launch_args, "args": [*browser_type_launch_args["args"], *QUIET]}


@pytest.fixture
def site(app: Flask) -> Iterator[str]:
    """The address of the running application."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def nobody_outside_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the server from outbound requests too: cloaked links in these tests have real host names."""
    monkeypatch.setattr(framing_check, "is_forbidden", lambda *_: False)


def wait_until(page: Page, condition: Callable[[], bool]) -> None:
    """Wait for a condition. (`page.wait_for_function` needs `eval`, which the pages' policy refuses.)"""
    for _ in range(SECONDS * 20):
        if condition():
            return
        page.wait_for_timeout(50)
    pytest.fail("It never came to that.")


def stepped_back(page: Page) -> None:
    """Wait until the closed dialog's entry of the history is left. A reload would be in its way."""
    wait_until(page, lambda: not page.evaluate("() => Boolean(history.state?.sheet)"))


class Watch:
    """Collects what a page must never do: log errors, or send requests to other hosts."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.complaints: list[str] = []

    def hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not EXPECTED.match(message.text):
            self.complaints.append(message.text)

    def see(self, request: Request) -> None:
        if not request.url.startswith((f"{self.site}/", "data:")):
            self.complaints.append(f"asked for {request.url}")

    def on(self, page: Page) -> Page:
        page.set_default_timeout(SECONDS * 1000)
        go_again_if_aborted(page)
        page.on("console", self.hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self.see)
        return page


def go_again_if_aborted(page: Page) -> None:
    """Let loading begin once more where the step back of a dialog that has just closed ended it."""
    for name in ("goto", "reload"):
        setattr(page, name, again_if_aborted(getattr(page, name)))


def again_if_aborted(load: Callable[..., Response | None]) -> Callable[..., Response | None]:
    def go(*arguments: Any, **options: Any) -> Response | None:
        try:
            return load(*arguments, **options)
        except Error as error:
            if "net::ERR_ABORTED" not in error.message:
                raise
            return load(*arguments, **options)

    return go


@pytest.fixture
def watch(site: str) -> Iterator[Watch]:
    watch = Watch(site)
    yield watch
    assert watch.complaints == []


@pytest.fixture
def sign_in(
    site: str, watch: Watch, session: scoped_session[Session]
) -> Callable[[BrowserContext, User], Page]:
    """`sign_in(context, alice)`: a page with alice signed in, at the list of links."""

    def sign_in(context: BrowserContext, user: User) -> Page:
        email = user.email
        session.rollback()  # or SQLite would refuse the row that signing in writes: we read before it
        page = watch.on(context.new_page())
        page.goto(f"{site}/login")
        page.fill("[name=email]", email)
        page.fill("[name=password]", PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.wait_for_url("**/dashboard/**")
        return page

    return sign_in


@pytest.fixture
def desk(context: BrowserContext, alice: User, sign_in: Callable[[BrowserContext, User], Page]) -> Page:
    """A page with alice signed in, at the list of links."""
    return sign_in(context, alice)
