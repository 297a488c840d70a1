"""Account page: profile, notifications, password and colour theme."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.accounts.models import User
from tests.factories import PASSWORD

pytestmark = pytest.mark.browser


def test_the_password_ends_every_other_session(
    desk: Page, alice: User, browser: Browser, sign_in: Callable[[BrowserContext, User], Page], site: str
) -> None:
    elsewhere = sign_in(browser.new_context(), alice)
    desk.get_by_role("link", name="Account").click()
    desk.get_by_label("Current password").fill("not it")
    desk.get_by_label("New password").fill("four new words together")
    desk.get_by_role("button", name="Change password").click()
    expect(desk.get_by_label("Current password")).to_be_focused()
    expect(desk.get_by_text("This is not your current password.")).to_be_visible()
    desk.get_by_label("Current password").fill(PASSWORD)
    desk.get_by_label("New password").fill("four new words together")
    desk.get_by_role("button", name="Change password").click()
    expect(desk.get_by_role("status").filter(has_text="Your password is changed.")).to_be_visible()
    elsewhere.reload()
    expect(elsewhere).to_have_url(f"{site}/login?next=/dashboard/links/")
    elsewhere.context.close()


def test_the_colours_are_kept(desk: Page) -> None:
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    light = desk.evaluate(colour)
    desk.get_by_role("button", name="Dark").click()
    dark = desk.evaluate(colour)
    assert dark != light
    desk.reload()
    assert desk.evaluate(colour) == dark
    # set in the HTML, before any script runs: nothing flashes
    assert 'data-theme="dark"' in desk.request.get(desk.url).text()
    desk.get_by_role("button", name="System").click()
    assert desk.evaluate(colour) == light
