"""The list of links: shortcuts, the row's menu, selecting ranges and bulk actions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.dashboard.links import bulk as links_bulk
from app.links.models import Link
from tests.browser.conftest import stepped_back

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture
def names(alice: User, make_link: Callable[..., Link]) -> list[str]:
    """Aliases of alice's links, newest first, as in the list."""
    for name in ("fig", "pear", "plum", "apple"):
        make_link(alice, name, location_url=f"https://example.com/{name}")
    return ["apple", "plum", "pear", "fig"]


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name="Links").get_by_role("listitem").filter(has_text=f"/{name}")


def stored(session: scoped_session[Session], name: str) -> Link:
    session.rollback()
    return session.scalars(select(Link).where(Link.url == name)).one()


def said(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text=text).first).to_be_visible()


def test_keys_of_the_focused_row(
    desk: Page, names: list[str], site: str, session: scoped_session[Session]
) -> None:
    desk.reload()
    desk.keyboard.press("j")
    desk.keyboard.press("ArrowDown")
    expect(row(desk, "plum").locator("a.name")).to_be_focused()
    desk.keyboard.press("k")
    expect(row(desk, "apple").locator("a.name")).to_be_focused()
    desk.keyboard.press("f")  # turns the link off
    said(desk, "/apple is off.")
    expect(row(desk, "apple")).to_contain_text("Off")
    expect(row(desk, "apple").locator("a.name")).to_be_focused()
    desk.keyboard.press("f")
    said(desk, "/apple is on.")
    desk.keyboard.press("w")  # edits the destination in the row
    field = desk.get_by_role("textbox", name="Destination of 127")
    expect(field).to_be_focused()
    desk.keyboard.type("javascript:alert(1)")
    desk.keyboard.press("Enter")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("javascript:alert(1)")
    field.fill("example.com/new")
    desk.keyboard.press("Enter")
    expect(row(desk, "apple")).to_contain_text("https://example.com/new")
    assert stored(session, "apple").location_url == "https://example.com/new"
    expect(row(desk, "apple").locator("a.name")).to_be_focused()
    desk.keyboard.press("w")
    expect(field).to_be_focused()
    desk.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(row(desk, "apple").locator("a.name")).to_be_focused()
    desk.keyboard.press("y")  # copy
    said(desk, "Copied.")
    desk.keyboard.press("/")
    expect(desk.get_by_role("searchbox")).to_be_focused()
    desk.keyboard.press("Control+v")
    expect(desk.get_by_role("searchbox")).to_have_value(f"{site}/apple")
    expect(row(desk, "fig")).to_have_count(0)
    expect(row(desk, "apple")).to_be_visible()
    desk.get_by_role("searchbox").fill("")
    expect(row(desk, "fig")).to_be_visible()
    desk.get_by_role("heading", name="Links").click()
    row(desk, "fig").locator("a.name").focus()
    desk.keyboard.press("Delete")
    expect(row(desk, "fig")).to_have_count(0)
    desk.keyboard.press("Control+z")
    expect(row(desk, "fig").locator(":focus")).to_have_count(1)
    row(desk, "fig").locator("a.name").focus()
    desk.keyboard.press("v")
    expect(desk).to_have_url(re.compile("/try$"))


def test_what_else_a_key_opens(desk: Page, names: list[str], site: str) -> None:
    desk.reload()
    for key, name in (("e", "Edit link"), ("d", "Duplicate link"), ("q", f"QR code of {site[7:]}/apple")):
        row(desk, "apple").locator("a.name").focus()
        desk.keyboard.press(key)
        expect(desk.get_by_role("dialog", name=name)).to_be_visible()
        desk.keyboard.press("Escape")
        expect(row(desk, "apple").locator("a.name")).to_be_focused()
    with desk.context.expect_page() as opened:
        desk.keyboard.press("o")
    assert opened.value.evaluate("opener") is None
    opened.value.close()
    row(desk, "apple").locator("time").focus()  # the focus shows the exact time: for keyboard and touch
    exact = "getComputedStyle(document.activeElement, '::after').content"
    assert re.match(r'"\d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC"', desk.evaluate(exact))
    row(desk, "apple").locator("a.name").focus()
    desk.keyboard.press("s")
    expect(desk.get_by_role("heading", name="This link has no clicks yet")).to_be_visible()


def test_keys_are_listed_and_letters_can_be_turned_off(desk: Page, names: list[str]) -> None:
    desk.reload()
    desk.keyboard.press("?")
    dialog = desk.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Copy short link")
    dialog.get_by_role("switch", name="Single-letter keys").uncheck()
    desk.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    stepped_back(desk)
    desk.reload()
    for key in "jc?":
        desk.keyboard.press(key)
    expect(desk.locator("main, body").locator(":focus")).to_have_count(0)
    expect(desk.get_by_role("dialog")).to_be_hidden()
    desk.get_by_role("button", name="Keyboard shortcuts").click()
    expect(dialog.get_by_role("switch")).not_to_be_checked()
    dialog.get_by_role("switch").check()
    desk.keyboard.press("Escape")
    expect(desk.locator("dialog[open]")).to_have_count(0)  # it is hidden a frame before
    desk.keyboard.press("j")
    expect(row(desk, "apple").locator("a.name")).to_be_focused()


def test_a_row_has_a_menu_and_a_duplicate_is_like_its_original(
    desk: Page,
    alice: User,
    make_link: Callable[..., Link],
    make_pixel: Callable[..., Any],
    session: scoped_session[Session],
) -> None:
    pairs = {"targeting_type": "device_type", "targeting": [["mobile", "https://m.example.com/"]]}
    link = make_link(
        alice, "one", tags=("a", "b"), title="One", password_hash="kept", utm_source="x", **pairs
    )
    link.pixels = [make_pixel(alice)]
    session.commit()
    desk.reload()
    more = row(desk, "one").get_by_role("link", name="More")
    more.click()
    menu = desk.locator("#row-menu")
    expect(menu.get_by_role("button", name="Copy short link")).to_be_focused()
    desk.keyboard.press("ArrowUp")
    expect(menu.get_by_role("link", name="Delete")).to_be_focused()
    desk.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(more).to_be_focused()
    more.click()
    menu.get_by_role("link", name="Duplicate").click()
    dialog = desk.get_by_role("dialog", name="Duplicate link")
    expect(dialog.get_by_label("Short link")).to_have_value("")
    dialog.get_by_label("Short link").fill("two")
    dialog.get_by_role("button", name="Create link").click()
    said(desk, "/two is created.")
    other = stored(session, "two")
    same = (
        "title",
        "location_url",
        "password_hash",
        "utm_source",
        "targeting_type",
        "targeting",
        "is_enabled",
    )
    assert {name: getattr(other, name) for name in same} == {name: getattr(link, name) for name in same}
    assert [tagged.tag for tagged in other.tag_rows] == ["a", "b"]
    assert other.pixels == link.pixels


def test_many_by_ranges_and_all_that_match(
    desk: Page, names: list[str], session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long work shows its progress. Its result says how many were changed, and why the others were not."""
    desk.reload()
    row(desk, "plum").locator(".pick").click()
    row(desk, "fig").locator(".pick").click(modifiers=["Shift"])
    bar = desk.locator("#many")
    expect(bar).to_contain_text("3 selected")
    bar.get_by_role("button", name="Turn off").click()
    said(desk, "3 links are turned off.")
    assert [stored(session, name).is_enabled for name in names] == [True, False, False, False]
    expect(bar).to_be_hidden()
    stored(session, "fig").tag_rows = [*stored(session, "fig").tag_rows]
    full = stored(session, "fig")
    full.tag_rows = [type(full).tag_rows.property.mapper.class_(tag=f"t{n}", position=n) for n in range(20)]
    session.commit()
    monkeypatch.setattr(links_bulk, "SECONDS", 0)
    monkeypatch.setattr(links_bulk.bulk_edit, "BATCH_SIZE", 1)
    desk.keyboard.press("j")
    desk.keyboard.press("x")
    expect(bar).to_contain_text("1 selected")
    bar.get_by_role("button", name="Select this page").click()
    bar.get_by_role("checkbox", name="All 4 links").check()
    bar.get_by_role("button", name="Change").click()
    dialog = desk.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Change 4 links")).to_be_visible()
    dialog.get_by_role("button", name="Change 4 links").click()
    expect(dialog.get_by_text("Choose something to change.")).to_be_visible()
    dialog.get_by_label("Add tags").fill("fruit,")
    dialog.get_by_label("State").select_option("On")
    dialog.get_by_role("button", name="Change 4 links").click()
    expect(dialog.get_by_role("heading", name="3 done, 1 failed")).to_be_visible()
    expect(dialog).to_contain_text("/fig It would have 21 tags; the limit is 20.")
    expect(row(desk, "pear")).to_contain_text("fruit")
    dialog.get_by_role("button", name="Done").click()
    stepped_back(desk)  # keys go to the list once the dialog is closed, a frame after it is hidden
    assert [stored(session, name).is_enabled for name in names] == [True, True, True, False]
    desk.keyboard.press("j")
    desk.keyboard.press("Control+a")
    bar.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete 4 links").click()
    said(desk, "4 links are deleted.")
    expect(desk.get_by_role("heading", name="Create your first short link")).to_be_visible()
