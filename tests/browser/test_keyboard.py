"""Use by keyboard alone: making a link with every option, bulk actions, trash and undo."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.links.models import Link

pytestmark = pytest.mark.browser
MOST_STOPS = 120
FOLDS = ("Organize", "Address", "Schedule & limits", "Protection", "Appearance", "Tracking", "Notifications")
FOCUSED = "element => element === document.activeElement"


def reach(page: Page, goal: Locator, key: str = "Tab") -> Locator:
    """Move the focus there by Tab alone, and check that the focus is shown."""
    expect(goal).to_be_visible()
    for _ in range(MOST_STOPS):
        if goal.evaluate(FOCUSED):
            assert goal.evaluate("element => element.matches(':focus-visible')")
            return goal
        page.keyboard.press(key)
    raise AssertionError(f"{goal} is out of reach")


def press(page: Page, goal: Locator, key: str = "Enter") -> None:
    reach(page, goal)
    page.keyboard.press(key)


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


@pytest.mark.full
def test_a_link_with_every_fold(desk: Page, session: scoped_session[Session]) -> None:
    desk.keyboard.press("c")
    dialog = desk.get_by_role("dialog", name="Create link")
    expect(dialog.get_by_label("Destination", exact=True)).to_be_focused()
    desk.keyboard.type("example.com/a")
    for fold in FOLDS:
        summary = dialog.locator("summary", has_text=fold)
        press(desk, summary)
        desk.keyboard.press("Tab")
        inside = summary.locator("xpath=..").locator("input, select, textarea, button, a")
        assert inside.evaluate_all("all => all.includes(document.activeElement)"), fold
        desk.keyboard.press("Shift+Tab")
        press(desk, summary)
    press(desk, dialog.locator("summary", has_text="Targeting"))
    reach(desk, dialog.get_by_label("Target visitors by"))
    desk.keyboard.type("A/B")
    group = dialog.get_by_role("group", name="A/B split")
    for number, weight in enumerate(("20", "30", "50"), 1):
        if number > 1:
            press(desk, group.get_by_role("button", name="Add a line"))
            expect(group.get_by_label(f"Weight {number}")).to_be_focused()
        reach(desk, group.get_by_label(f"Weight {number}"))
        desk.keyboard.type(weight)
        desk.keyboard.press("Tab")
        desk.keyboard.type(f"https://example.com/{weight}")
    desk.keyboard.press("Alt+ArrowUp")
    expect(group.get_by_label("Weight 2")).to_have_value("50")
    press(desk, group.get_by_role("button", name="Move down, line 2"))
    expect(group.get_by_label("Weight 3")).to_have_value("50")
    reach(desk, group.get_by_role("button", name="Remove line 2"), "Shift+Tab")
    desk.keyboard.press("Enter")
    expect(group.get_by_label("Weight 2")).to_have_value("50")
    press(desk, dialog.get_by_role("button", name="Create link"))
    expect(desk.get_by_role("status").filter(has_text="is created.")).to_be_visible()
    session.rollback()
    made = session.scalars(select(Link)).one()
    assert made.targeting == [["20", "https://example.com/20"], ["50", "https://example.com/50"]]
