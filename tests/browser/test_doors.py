"""Two-factor authentication and password reset: accessible, and fit for a small screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from app.accounts.models import User
from tests.accounts.codes import shown
from tests.browser.test_accessibility import NARROW, sideways, violations
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.full, pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525")]
WIDE = {"width": 1280, "height": 800}


def look(page: Page, shown: Locator) -> None:
    """Check the page that shows this element for accessibility in both themes, and its width on a narrow screen.

    The element is one that the page before does not have: a click returns before the next page is there.
    """
    expect(shown).to_be_visible()
    page.wait_for_load_state()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        assert violations(page) == [], (page.url, scheme)
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    assert sideways(page) == [], page.url
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]


def sign_in(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("E-mail").fill("alice@example.com")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_two_factor_from_on_to_off(desk: Page, alice: User, tmp_path: Path) -> None:
    desk.get_by_role("link", name="Account").click()
    desk.get_by_role("link", name="Turn two-factor on").click()
    look(desk, desk.get_by_role("button", name="Continue"))
    desk.get_by_label("Current password").fill(PASSWORD)
    desk.keyboard.press("Enter")
    secret = desk.locator("#totp-key").inner_text()
    look(desk, desk.locator("#totp-key"))
    desk.get_by_label("Code", exact=True).fill("000000")
    desk.keyboard.press("Enter")
    expect(desk.get_by_text("This code is not right")).to_be_visible()
    expect(desk.get_by_label("Code", exact=True)).to_be_focused()
    desk.get_by_label("Code", exact=True).fill(shown(secret, -1))
    desk.keyboard.press("Enter")
    codes = desk.get_by_label("Recovery codes").inner_text().split()
    assert len(codes) == 10
    look(desk, desk.get_by_label("Recovery codes"))
    with desk.expect_download() as download:
        desk.get_by_role("link", name="Download").click()
    download.value.save_as(tmp_path / "codes.txt")
    assert (tmp_path / "codes.txt").read_text().split()[2:] == codes
    desk.get_by_role("link", name="Done").click()
    expect(desk.locator("#two-factor").get_by_text("On", exact=True)).to_be_visible()
    look(desk, desk.locator("#sessions").get_by_text("This browser"))

    desk.get_by_role("button", name="Sign out", exact=True).first.click()
    sign_in(desk)
    look(desk, desk.get_by_role("heading", name="Your code"))
    desk.get_by_label("Code").fill(shown(secret))
    desk.keyboard.press("Enter")
    expect(desk.get_by_role("heading", name="Links")).to_be_visible()

    desk.get_by_role("link", name="Account").click()
    desk.get_by_role("link", name="See two-factor").click()
    look(desk, desk.get_by_text("Recovery codes left"))
    desk.get_by_role("link", name="New recovery codes").click()
    look(desk, desk.get_by_role("button", name="Create new codes"))
    desk.go_back()
    desk.get_by_role("link", name="Turn off").click()
    look(desk, desk.get_by_role("button", name="Turn off"))
    desk.get_by_label("Current password").fill(PASSWORD)
    desk.get_by_label("Code of the app, or a recovery code").fill(codes[0])
    desk.get_by_role("button", name="Turn off").click()
    expect(desk.get_by_role("link", name="Turn two-factor on")).to_be_visible()
