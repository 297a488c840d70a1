"""Focus of the sign-in: its first field, and the one that is wrong."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, expect

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_field_of_a_sign_in_has_the_focus(context: BrowserContext, site: str, width: int) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 844})
    for path in ("/login", "/login?next=/dashboard/pixels/"):
        page.goto(site + path)
        expect(page.get_by_label("E-mail")).to_be_focused()
    page.keyboard.type("alice@example.com")
    page.keyboard.press("Tab")
    page.keyboard.type("a wrong guess")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Password")).to_be_focused()
