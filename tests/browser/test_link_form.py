"""The link form in the browser: one field is enough, the preview follows, targeting lines can be moved."""

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

PASTE = """text => {
  const data = new DataTransfer();
  data.setData("text", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""


def only_link(session: scoped_session[Session]) -> Link:
    session.rollback()
    return session.scalars(select(Link)).one()


def test_pasting_anywhere_begins_a_link_or_many(desk: Page, site: str) -> None:
    dialog = desk.get_by_role("dialog")
    desk.evaluate(PASTE, "just some words")
    expect(dialog).to_be_hidden()
    desk.evaluate(PASTE, "https://example.com/pasted")
    expect(dialog.get_by_label("Destination", exact=True)).to_have_value("https://example.com/pasted")
    desk.reload()
    desk.evaluate(PASTE, "https://example.com/1\nexample.com/2")
    expect(dialog.get_by_label("Destinations, one a line")).to_have_value(
        "https://example.com/1\nexample.com/2"
    )
    expect(dialog.get_by_text("2 addresses.")).to_be_visible()
    desk.goto(f"{site}/dashboard/pixels/")  # pasting works on other pages, too
    desk.evaluate(PASTE, "example.com/from-afar")
    expect(dialog.get_by_label("Destination", exact=True)).to_have_value("example.com/from-afar")


def test_the_preview_follows_and_the_alias_is_checked(
    desk: Page, alice: User, bob: User, make_link: Callable[..., Link]
) -> None:
    make_link(bob, "taken")
    desk.keyboard.press("c")
    dialog = desk.get_by_role("dialog")
    preview = dialog.get_by_role("complementary", name="Preview")
    note = dialog.locator("#alias-note")
    expect(dialog.get_by_label("Destination", exact=True)).to_be_focused()
    desk.keyboard.type("example.com/shop?utm_source=old#top")
    expect(preview).to_contain_text("https://example.com/shop?utm_source=old#top")
    alias = dialog.get_by_label("Short link")
    alias.fill("TAKEN")
    expect(note).to_have_text("This short link is taken already.")
    alias.fill("api")
    expect(note).to_contain_text("used by Waypost itself")
    alias.fill("spring//sale")
    expect(note).to_contain_text("and / between them")
    alias.fill("taken/brand-new")
    expect(note).to_have_text("This short link is free.")
    expect(preview.get_by_role("img", name="QR code of 127")).to_have_attribute(
        "alt", re.compile(r"taken\Wbrand-new$")
    )
    dialog.locator("summary", has_text="Tracking").click()
    dialog.get_by_label("UTM source").fill("letter")
    expect(preview).to_contain_text("https://example.com/shop?utm_source=letter#top")
    dialog.locator("summary", has_text="Appearance").click()
    dialog.get_by_role("switch", name="Cloaking").check()
    dialog.get_by_label("Card title").fill("Spring is here")
    expect(preview).to_contain_text("Spring is here")
    dialog.locator("summary", has_text="Schedule & limits").click()
    dialog.get_by_role("switch", name="Ask for a tap").check()
    dialog.get_by_label("Click limit").fill("3")
    expect(preview).to_contain_text("Asks for a tap first")
    dialog.locator("summary", has_text="Protection").click()
    dialog.get_by_label("Password").fill("open sesame")
    expect(preview).to_contain_text("Asks for the password first")
    expect(preview).not_to_contain_text("Asks for a tap first")
    expect(preview).not_to_contain_text("Spring is here")
    expect(dialog.get_by_label("Password")).to_be_focused()


def test_lines_of_who_goes_where_are_named_and_moved(desk: Page, session: scoped_session[Session]) -> None:
    desk.keyboard.press("c")
    dialog = desk.get_by_role("dialog")
    preview = dialog.get_by_role("complementary", name="Preview")
    dialog.get_by_label("Destination", exact=True).fill("example.com")
    dialog.locator("summary", has_text="Targeting").click()
    dialog.get_by_label("Target visitors by").select_option("Country")
    group = dialog.get_by_role("group", name="Country")
    for number, (country, to) in enumerate(
        (("Germany", "https://de.example/"), ("fr", "https://fr.example/")), 1
    ):
        if number > 1:
            group.get_by_role("button", name="Add a line").click()
        group.get_by_label(f"Country {number}").fill(country)
        group.get_by_label(f"Destination {number}").fill(to)
    expect(preview).to_contain_text("https://de.example/")
    expect(preview).to_contain_text("All other visitors")
    group.get_by_label("Country 2").press("Alt+ArrowUp")
    expect(group.get_by_label("Country 1")).to_have_value("fr")
    expect(group.get_by_label("Country 1")).to_be_focused()
    group.get_by_role("button", name="Move down, line 1").click()
    expect(group.get_by_label("Country 1")).to_have_value("Germany")
    grip, other = (
        group.locator("[data-grip]").nth(1).bounding_box(),
        group.get_by_label("Country 1").bounding_box(),
    )
    assert grip and other
    desk.mouse.move(grip["x"] + 5, grip["y"] + 5)
    desk.mouse.down()
    desk.mouse.move(grip["x"] + 5, other["y"] + 2, steps=8)
    desk.mouse.up()
    expect(group.get_by_label("Country 1")).to_have_value("fr")
    dialog.get_by_role("button", name="Create link").click()
    expect(desk.get_by_role("status").filter(has_text="is created.")).to_be_visible()
    assert only_link(session).targeting == [["FR", "https://fr.example/"], ["DE", "https://de.example/"]]
    desk.get_by_role("link", name="Edit 127").click()
    dialog.locator("summary", has_text="Targeting").click()
    expect(group.get_by_label("Country 1")).to_have_value("France")
    for type_, first, some in (  # the suggestions while typing
        ("browser_language", "Language", {"Portuguese (Brazil)", "German"}),
        ("os_name", "Operating system", {"Windows", "Chrome OS"}),
        ("country_code", "Country", {"Germany", "Japan"}),
    ):
        dialog.get_by_label("Target visitors by").select_option(type_)
        field = dialog.get_by_role("group", name=first).get_by_label(f"{first} 1")
        expect(field).to_be_visible()
        assert some <= set(field.evaluate("field => [...field.list.options].map(option => option.value)"))
    dialog.get_by_label("Target visitors by").select_option("A/B split")
    shares = dialog.get_by_role("group", name="A/B split")
    shares.get_by_label("Weight 1").fill("50")
    shares.get_by_label("Destination 1").fill("https://a.example/")
    shares.get_by_role("button", name="Add a line").click()
    shares.get_by_label("Weight 2").fill("25")
    shares.get_by_label("Destination 2").fill("https://b.example/")
    expect(shares.locator("[data-share]").nth(0)).to_have_text("67%")
    expect(preview).to_contain_text("33% of visitors")


# --- dragging: Chromium gets the events of a touch screen and of a pen
