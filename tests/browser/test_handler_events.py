"""The events of a handler's form in Chromium: chosen by keyboard, with a preview that follows."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.notifications.models import NotificationHandler
from tests.browser.test_accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_events_are_chosen_by_keyboard(
    desk: Page, site: str, session: scoped_session[Session], width: int, theme: Any
) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    desk.emulate_media(color_scheme=theme, reduced_motion="reduce")
    desk.goto(f"{site}/dashboard/handlers/new")
    desk.get_by_role("radio", name="Webhook", exact=True).check()
    desk.get_by_label("Address", exact=True).fill("https://hooks.example/waypost")
    fold = desk.locator("details[data-fold=events]")
    fold.locator("summary").focus()
    desk.keyboard.press("Enter")
    fold.get_by_role("checkbox", name="Clicks", exact=True).focus()
    desk.keyboard.press("Space")
    preview = desk.get_by_role("complementary", name="Preview")
    expect(preview).to_contain_text("0 clicks of the last 24 hours would have matched.")
    expect(preview.locator("pre")).to_contain_text('"type": "link.clicked"')
    fold.get_by_label("Of which links").select_option("workspace")
    expect(preview).not_to_contain_text("No link names this handler yet.")
    assert violations(desk) == []
    assert desk.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    fold.get_by_label("Only from these countries").fill("DE, ZZ")
    desk.get_by_role("button", name="Create handler").click()
    expect(desk.get_by_text("There is no country “ZZ”.")).to_be_visible()
    assert violations(desk) == []
    fold.get_by_label("Only from these countries").fill("de, at")
    desk.get_by_role("button", name="Create handler").click()
    expect(desk.get_by_text("Webhook is created.").first).to_be_visible()
    session.rollback()
    made = session.scalars(select(NotificationHandler)).one()
    assert made.events is not None and made.events[0] == "link.clicked"
    assert (made.scope, (made.click_filter or {})["countries"]) == ("workspace", ["AT", "DE"])
