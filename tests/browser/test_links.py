"""Links in the dashboard: creating, editing and deleting them in dialogs, and bulk creation."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import Link

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("way", ["mouse", "keys", "phone"])
def test_a_deleted_link_can_be_had_back(
    desk: Page, alice: User, make_link: Callable[..., Link], way: str
) -> None:
    for name in ("first", "doomed", "last"):
        make_link(alice, name)
    if way == "phone":
        desk.set_viewport_size({"width": 390, "height": 800})
    desk.reload()
    doomed = desk.get_by_role("listitem").filter(has_text="/doomed")
    if way == "keys":
        doomed.locator("a.name").focus()
        desk.keyboard.press("Delete")
    else:
        doomed.get_by_role("link", name="More").click()
        desk.get_by_role("link", name="Delete").click()
    expect(doomed).to_have_count(0)
    expect(desk.get_by_text("1 to 2 of 2")).to_be_visible()
    expect(desk.locator("#rows > .row", has_text="/first").locator(":focus")).to_have_count(1)  # the next row
    undo = desk.get_by_role("status").get_by_role("button", name="Undo")
    if way == "keys":
        desk.keyboard.press("Control+z")
    else:
        undo.click()
    expect(doomed.locator(":focus")).to_have_count(1)
    expect(undo).to_have_count(0)


def test_many_at_once_with_the_errors_of_each_line(desk: Page, session: scoped_session[Session]) -> None:
    desk.get_by_role("link", name="Bulk create").click()
    dialog = desk.get_by_role("dialog")
    lines = dialog.get_by_label("Destinations, one a line")
    lines.fill("https://example.com/1\n\nftp://example.com/3\nexample.com/4")
    expect(dialog.get_by_text("3 addresses.")).to_be_visible()
    dialog.get_by_role("button", name="Create links").click()
    expect(dialog.locator(".wrong-lines li")).to_have_text(
        re.compile(r"Line 3\s*ftp://example.com/3\s*This must be")
    )
    expect(lines).to_be_focused()
    assert chosen(desk) == "ftp://example.com/3"
    assert session.scalars(select(Link)).all() == []
    lines.fill("https://example.com/1\nexample.com/4")
    dialog.get_by_role("button", name="Create links").click()
    expect(desk.get_by_role("status").filter(has_text="2 links are created.")).to_be_visible()
    expect(desk.get_by_role("listitem").filter(has_text="https://example.com/")).to_have_count(2)


def chosen(page: Page) -> str:
    """The selected part of the text in the focused field."""
    return str(
        page.evaluate("(a => a.value.slice(a.selectionStart, a.selectionEnd))(document.activeElement)")
    )


def test_on_a_phone_more_pages_are_one_key_away(desk: Page) -> None:
    desk.set_viewport_size({"width": 390, "height": 700})
    main = desk.get_by_role("navigation", name="Main")
    expect(main.get_by_role("link")).to_have_count(4)
    more = main.locator("summary")
    more.focus()
    desk.keyboard.press("Enter")
    expect(main.get_by_role("link", name="Account")).to_be_visible()
    desk.keyboard.press("Escape")
    expect(main.get_by_role("link")).to_have_count(4)
    expect(more).to_be_focused()
    more.click()
    main.get_by_role("link", name="Trash").click()
    expect(desk.get_by_role("heading", name="Trash", exact=True)).to_be_visible()


def test_copy_also_where_the_browser_has_no_clipboard(
    desk: Page, alice: User, make_link: Callable[..., Link], site: str
) -> None:
    """Browsers offer no clipboard on plain HTTP, except on localhost."""
    make_link(alice, "copied")
    desk.add_init_script("Object.defineProperty(Navigator.prototype, 'clipboard', {get: () => undefined})")
    desk.reload()
    button = desk.get_by_role("button", name="Copy 127")
    button.click()
    expect(desk.get_by_role("status").filter(has_text="Copied.")).to_be_visible()
    expect(button).to_be_focused()
    desk.get_by_role("searchbox").focus()
    desk.keyboard.press("Control+V")
    expect(desk.get_by_role("searchbox")).to_have_value(f"{site}/copied")
