"""Links in the dashboard: creating, editing and deleting them in dialogs, and bulk creation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import Link

pytestmark = pytest.mark.browser


def only_link(session: scoped_session[Session]) -> Link:
    session.rollback()
    return session.scalars(select(Link)).one()


def open_create(page: Page) -> Any:
    page.get_by_role("link", name="Create link").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Destination", exact=True)).to_be_focused()
    return dialog


def fold(dialog: Any, title: str) -> Any:
    summary = dialog.locator("summary", has_text=title)
    summary.click()
    return summary


def test_every_fold_is_kept_and_says_what_is_on(
    desk: Page,
    alice: User,
    make_pixel: Callable[..., Any],
    make_handler: Callable[..., Any],
    session: scoped_session[Session],
) -> None:
    make_pixel(alice, name="Shop")
    make_handler(alice, name="Team")
    dialog = open_create(desk)
    dialog.get_by_label("Destination", exact=True).fill("https://example.com/")
    fold(dialog, "Organize")
    dialog.get_by_role("textbox", name="Title optional", exact=True).fill("Spring")
    dialog.get_by_label("Tags").fill("red, blue")
    dialog.get_by_label("Notes").fill("two\nlines")
    fold(dialog, "Address")
    dialog.get_by_label("Redirect type").select_option("301")
    dialog.get_by_role("switch", name="Open in apps").check()
    fold(dialog, "Schedule & limits")
    dialog.get_by_role("switch", name="Schedule").check()
    dialog.get_by_label("Start").fill("2030-01-31T09:30")
    dialog.get_by_label("Click limit").fill("100")
    dialog.get_by_label("Expiration URL").fill("https://example.com/late")
    fold(dialog, "Targeting")
    dialog.get_by_label("Target visitors by").select_option("device_type")
    dialog.get_by_label("Device 1").select_option("mobile")
    dialog.get_by_label("Destination 1").locator("visible=true").fill("https://m.example.com/")
    dialog.get_by_role("button", name="Add a line").click()
    dialog.get_by_label("Device 2").select_option("tablet")
    dialog.get_by_label("Destination 2").locator("visible=true").fill("https://t.example.com/")
    fold(dialog, "Protection")
    dialog.get_by_label("Password").fill("open sesame")
    dialog.get_by_role("switch", name="Warning page").check()
    fold(dialog, "Appearance")
    dialog.get_by_role("switch", name="Cloaking").check()
    dialog.get_by_label("Card title").fill("A page")
    fold(dialog, "Tracking")
    dialog.get_by_role("checkbox", name="Shop").check()
    dialog.get_by_label("UTM source").fill("letter")
    fold(dialog, "Notifications")
    dialog.get_by_role("checkbox", name="Team").check()
    said = {
        one.get_attribute("data-fold"): one.locator(".says").inner_text()
        for one in dialog.locator("details.fold").all()
    }
    assert said == {
        "labels": "Spring, Tags, Notes",
        "address": "301 Moved Permanently, Opens apps",
        "when": "Schedule, Click limit, Expiration URL",
        "where": "Device",
        "protection": "Password, Warning page",
        "appearance": "Social card, Cloaked",
        "tracking": "Shop, letter",
        "tell": "Team",
    }
    dialog.get_by_role("button", name="Create link").click()
    expect(desk.get_by_role("status").filter(has_text="is created.")).to_be_visible()
    link = only_link(session)
    assert [row.tag for row in link.tag_rows] == ["red", "blue"]
    assert (link.title, link.notes, link.http_status_code) == ("Spring", "two\r\nlines", 301)
    assert (str(link.start_date), link.end_date) == ("2030-01-31 09:30:00+00:00", None)
    assert (link.clicks_limit, link.expiration_url) == (100, "https://example.com/late")
    assert link.targeting == [["mobile", "https://m.example.com/"], ["tablet", "https://t.example.com/"]]
    assert link.password_hash
    assert (link.sensitive_content, link.cloaking_title, link.utm_source) == (True, "A page", "letter")
    assert [pixel.name for pixel in link.pixels] == ["Shop"]
    assert [handler.name for handler in link.handlers] == ["Team"]
    # saved again as the page shows it after a reload: no field changes
    before = {name: getattr(link, name) for name in Link.__mapper__.columns.keys()}  # noqa: SIM118  no mapping
    desk.reload()
    desk.get_by_role("link", name="Edit 127").click()
    expect(dialog.get_by_role("button", name="Save link")).to_be_visible()
    shown = {
        one.get_attribute("data-fold"): one.locator(".says").inner_text()
        for one in dialog.locator("details.fold").all()
    }
    assert shown == said
    dialog.get_by_role("button", name="Save link").click()
    expect(desk.get_by_role("status").filter(has_text="is saved.")).to_be_visible()
    session.expire_all()
    after = {name: getattr(only_link(session), name) for name in before}
    assert {name for name in before if before[name] != after[name]} == {"last_datetime"}


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
