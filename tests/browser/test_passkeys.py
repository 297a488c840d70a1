"""Passkeys in a real browser, with its virtual authenticator: from the first one to the last one removed."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import BrowserContext, CDPSession, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.serving import make_server

from app.accounts.models import User
from app.audit.models import AuditEntry
from tests.browser.conftest import Watch
from tests.browser.test_doors import look
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture
def site(app: Flask) -> Iterator[str]:
    """The address of the running application: browsers take no IP address for a passkey's host."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Device:
    """Chromium's virtual authenticator in one page."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self.cdp: CDPSession = context.new_cdp_session(page)
        self.cdp.send("WebAuthn.enable")
        self.id = self.add()

    def add(self, **options: Any) -> str:
        usual = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        made = self.cdp.send("WebAuthn.addVirtualAuthenticator", {"options": usual | options})
        return str(made["authenticatorId"])

    def send(self, name: str, **options: Any) -> Any:
        return self.cdp.send(f"WebAuthn.{name}", {"authenticatorId": self.id, **options})

    def replace(self, **options: Any) -> None:
        """Another authenticator in place of this one: the passkeys of the old one are lost."""
        self.send("removeVirtualAuthenticator")
        self.id = self.add(**options)

    def credentials(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.send("getCredentials")["credentials"]
        return found

    def is_touched(self, is_touched: bool) -> None:
        self.send("setAutomaticPresenceSimulation", enabled=is_touched)

    def knows_its_user(self, is_verified: bool) -> None:
        self.send("setUserVerified", isUserVerified=is_verified)


NO_AUTOFILL = "PublicKeyCredential.isConditionalMediationAvailable = async () => false"
REFUSED = "the server responded with a status of 403"


@pytest.fixture(autouse=True)
def refusals_are_expected(watch: Watch) -> Iterator[None]:
    yield
    watch.complaints[:] = [text for text in watch.complaints if REFUSED not in text]


@pytest.fixture
def token(context: BrowserContext, desk: Page) -> Device:
    # the virtual authenticator would answer it at once, on every sign-in page
    desk.add_init_script(NO_AUTOFILL)
    return Device(context, desk)


def to_account(page: Page) -> None:
    page.get_by_role("link", name="Account").first.click()
    expect(page.locator("#passkeys")).to_be_visible()


def begin_adding(page: Page) -> None:
    to_account(page)
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Create the passkey")).to_be_visible()


def add(page: Page, name: str = "") -> list[str]:
    """Adds a passkey; returns the recovery codes that came with it."""
    begin_adding(page)
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create the passkey").click()
    codes = page.get_by_label("Recovery codes")
    expect(codes.or_(page.locator("#passkeys"))).to_be_visible()
    return codes.inner_text().split() if codes.is_visible() else []


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out", exact=True).first.click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def type_password(page: Page) -> None:
    page.get_by_label("E-mail").fill("alice@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def expect_signed_in(page: Page) -> None:
    expect(page.get_by_role("heading", name="Links")).to_be_visible()


def last_entry(session: scoped_session[Session], action: str) -> AuditEntry:
    session.rollback()
    newest = select(AuditEntry).where(AuditEntry.action == action).order_by(AuditEntry.id.desc()).limit(1)
    return session.scalars(newest).one()


def test_from_the_first_to_the_last(
    desk: Page, token: Device, alice: User, session: scoped_session[Session]
) -> None:
    to_account(desk)
    look(desk, desk.locator("#passkeys").get_by_role("link", name="Add a passkey"))
    desk.get_by_role("link", name="Add a passkey").click()
    look(desk, desk.get_by_label("Current password"))
    desk.get_by_label("Current password").fill("not this one")
    desk.keyboard.press("Enter")
    look(desk, desk.get_by_text("This is not your current password."))
    codes = add(desk, "Laptop")
    assert len(codes) == 10
    look(desk, desk.get_by_label("Recovery codes"))
    desk.get_by_role("link", name="Done").click()
    row = desk.locator("#passkeys li")
    expect(row).to_contain_text("Laptop")
    look(desk, row.get_by_text("Not used yet"))

    # the same authenticator holds one of this account already
    begin_adding(desk)
    look(desk, desk.get_by_role("button", name="Create the passkey"))
    desk.get_by_role("button", name="Create the passkey").click()
    expect(desk.get_by_text("has a passkey for your account already")).to_be_visible()

    # alone, in no need of a password
    sign_out(desk)
    look(desk, desk.get_by_role("button", name="Sign in with a passkey"))
    desk.get_by_role("button", name="Sign in with a passkey").click()
    expect_signed_in(desk)
    assert last_entry(session, "sign_in").changes == {"method": "passkey"}
    to_account(desk)
    expect(desk.locator("#passkeys li")).to_contain_text("Last used")

    # a second one, on another authenticator, named after the browser
    token.replace()
    assert add(desk) == []
    expect(desk.locator("#passkeys li")).to_have_count(2)
    expect(desk.locator("#passkeys li").last).to_contain_text("Chrome")
    desk.get_by_role("link", name="Rename Laptop").click()
    dialog = desk.get_by_role("dialog")
    look(desk, dialog.get_by_label("Name"))
    dialog.get_by_label("Name").fill("Old laptop")
    desk.keyboard.press("Enter")
    expect(desk.locator("#passkeys")).to_contain_text("Old laptop")

    # after the password
    sign_out(desk)
    type_password(desk)
    look(desk, desk.get_by_role("heading", name="Your passkey"))
    desk.get_by_role("button", name="Use a passkey").click()
    expect_signed_in(desk)
    assert last_entry(session, "sign_in").changes == {"method": "password_and_passkey"}

    # the lost one goes with the password; the last one also wants a code, or the passkey itself
    to_account(desk)
    desk.get_by_role("link", name="Remove Old laptop").click()
    dialog.get_by_label("Current password").fill(PASSWORD)
    desk.keyboard.press("Enter")
    expect(desk.locator("#passkeys li")).to_have_count(1)
    desk.locator("#passkeys li").get_by_role("link", name="Remove").click()
    look(desk, dialog.get_by_text("It is your last second factor."))
    dialog.get_by_role("button", name="Use a passkey instead").click()
    expect(desk.locator("#passkeys li")).to_have_count(0)
    expect(desk.get_by_role("link", name="Turn two-factor on")).to_be_visible()


def test_autofill(context: BrowserContext, desk: Page, site: str, session: scoped_session[Session]) -> None:
    """The field of the address offers passkeys. The virtual authenticator takes the offer by itself."""
    token = Device(context, desk)
    add(desk, "Phone")
    token.is_touched(False)
    sign_out(desk)
    expect(desk.get_by_label("E-mail")).to_have_attribute("autocomplete", "username webauthn")
    token.is_touched(True)
    desk.goto(f"{site}/login?next=/dashboard/keys/")
    desk.wait_for_url(f"{site}/dashboard/keys/")
    assert last_entry(session, "sign_in").changes == {"method": "passkey"}
