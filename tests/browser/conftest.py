"""How does a test drive the dashboard as a person does, in a real Chromium?

The application runs in a thread of the test's own process, so that a test can look at the rows. Whatever
a page says in its console, and whatever it asks of another host, fails the test at its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect
from sqlalchemy.orm import Session, scoped_session
from werkzeug.serving import make_server

from app.accounts.models import User
from app.dashboard import framing_check
from tests.factories import PASSWORD

ELSEWHERE = "links.example"  # a host like any other to the browser, and this machine all the same
QUIET = [
    f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Chromium itself notes each answer of 4xx; these are how a form says that something is wrong with it
# (and axe, the judge of accessibility, tries styles of its own, which the pages' policy refuses)
EXPECTED = re.compile(
    r"Failed to load resource: the server responded with a status of 4(09|13|22) |Applying inline style violates"
)
SECONDS = 60  # for whatever a page is to do next: a busy machine may take long
expect.set_options(timeout=SECONDS * 1000)


@pytest.fixture(scope="session")
def base_url() -> None:
    """None: addresses are given whole. (The plugin's own fixture makes a newer pytest warn.)"""


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
    """Nor by the server: destinations of cloaked links are whole names of the real world here."""
    monkeypatch.setattr(framing_check, "is_forbidden", lambda *_: False)


class Watch:
    """What a page should never do: complain, or ask somebody else for anything."""

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
        page.on("console", self.hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self.see)
        return page


@pytest.fixture
def watch(site: str) -> Iterator[Watch]:
    watch = Watch(site)
    yield watch
    assert watch.complaints == []


@pytest.fixture
def sign_in(
    site: str, watch: Watch, session: scoped_session[Session]
) -> Callable[[BrowserContext, User], Page]:
    """`sign_in(context, alice)`: a page of a browser in which she is signed in, at her links."""

    def sign_in(context: BrowserContext, user: User) -> Page:
        email = user.email
        session.rollback()  # signing in writes a row, and SQLite lets nobody write who read before it
        page = watch.on(context.new_page())
        page.goto(f"{site}/login")
        page.fill("[name=email]", email)
        page.fill("[name=password]", PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/dashboard/**")
        return page

    return sign_in


@pytest.fixture
def desk(context: BrowserContext, alice: User, sign_in: Callable[[BrowserContext, User], Page]) -> Page:
    """Alice's dashboard, at its links."""
    return sign_in(context, alice)
