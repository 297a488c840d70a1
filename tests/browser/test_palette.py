"""The palette of Ctrl+K: pages, commands, the focused row's actions and links, by keys, mouse and touch."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import Link
from tests.browser.test_accessibility import sideways, violations
from tests.factories import Factory

pytestmark = [pytest.mark.browser, pytest.mark.full]

WIDTHS = pytest.mark.parametrize("width", [1280, 390])


@pytest.fixture
def links(alice: User, bob: User, factory: Factory) -> None:
    for name in ("fig", "pear", "plum"):
        factory.link(alice, name, location_url=f"https://example.com/{name}", title=f"The {name}")
    factory.link(bob, "plum-of-bob")


@pytest.fixture
def here(desk: Page, links: None) -> Page:
    desk.reload()
    return desk


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Search and commands")


def field(page: Page) -> Locator:
    return dialog(page).get_by_role("combobox")


def option(page: Page, name: str) -> Locator:
    return dialog(page).get_by_role("option", name=name)


def opened(page: Page) -> Page:
    page.keyboard.press("ControlOrMeta+k")
    expect(field(page)).to_be_focused()
    expect(option(page, "Sign out")).to_be_attached()
    return page


def chosen(page: Page) -> Locator:
    """The option that Enter takes, as a screen reader is told."""
    one = dialog(page).locator("[role=option][aria-selected=true]")
    expect(one).to_be_visible()
    expect(field(page)).to_have_attribute("aria-activedescendant", one.get_attribute("id") or "")
    return one


@WIDTHS
def test_a_button_opens_it_and_a_page_is_found(here: Page, site: str, width: int) -> None:
    here.set_viewport_size({"width": width, "height": 800})
    here.get_by_role("button", name="Search and commands").click()
    expect(field(here)).to_be_focused()
    expect(option(here, "Statistics")).to_be_attached()
    assert [*violations(here), *sideways(here)] == []
    field(here).fill("dom")
    expect(option(here, "Domains")).to_be_visible()
    expect(option(here, "Statistics")).to_be_hidden()
    option(here, "Domains").click()
    expect(here).to_have_url(f"{site}/dashboard/domains/")


def test_keys_choose(here: Page, site: str) -> None:
    opened(here)
    expect(field(here)).to_have_attribute("aria-expanded", "true")
    expect(chosen(here)).to_contain_text("Create link")
    here.keyboard.press("ArrowDown")
    expect(chosen(here)).to_contain_text("Bulk create")
    here.keyboard.press("ArrowUp")
    here.keyboard.press("ArrowUp")
    expect(chosen(here)).to_contain_text("Instance")  # the last
    here.keyboard.press("PageUp")
    expect(chosen(here)).not_to_contain_text("Instance")
    field(here).fill("pages with no such name")
    expect(dialog(here)).to_contain_text("Nothing found")
    expect(field(here)).to_have_attribute("aria-expanded", "false")
    assert violations(here) == []
    here.keyboard.press("Enter")
    expect(dialog(here)).to_be_visible()
    field(here).fill("trash")
    expect(dialog(here).get_by_role("status")).to_have_text("1 result")
    here.keyboard.press("Enter")
    expect(here).to_have_url(f"{site}/dashboard/trash/")
    opened(here)  # on any page
    field(here).fill("new pixel")
    here.keyboard.press("Enter")
    expect(here).to_have_url(f"{site}/dashboard/pixels/new")
    opened(here).keyboard.type("short")
    here.keyboard.press("Enter")
    expect(here.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text(
        "Search pages, links and commands"
    )


@WIDTHS
def test_links_are_found_and_edited(here: Page, site: str, width: int) -> None:
    here.set_viewport_size({"width": width, "height": 800})
    here.get_by_role("button", name="Search and commands").click()
    here.keyboard.type("the plu")
    expect(option(here, "/plum")).to_be_visible()
    expect(dialog(here).get_by_role("option").filter(visible=True)).to_have_count(1)
    expect(chosen(here)).to_contain_text("The plum")
    here.keyboard.press("Enter")
    form = here.get_by_role("dialog", name="Edit link")
    expect(form.get_by_label("Short link")).to_have_value("plum")
    here.keyboard.press("Escape")
    expect(form).to_be_hidden()
    here.goto(f"{site}/dashboard/pixels/")
    here.get_by_role("button", name="Search and commands").click()
    here.keyboard.type(f"{site}/fig")  # as it was pasted
    option(here, "/fig").click()
    expect(here).to_have_url(re.compile(r"/links/\d+$"))


def test_actions_of_the_focused_row(here: Page, session: scoped_session[Session]) -> None:
    row = here.locator("#rows > .row").filter(has_text="/pear")
    row.locator("a.name").focus()
    opened(here)
    group = dialog(here).get_by_role("group", name=re.compile("pear$"))
    expect(group.get_by_role("option", name="Duplicate")).to_be_visible()
    assert violations(here) == []
    field(here).fill("turn off")
    here.keyboard.press("Enter")
    expect(row.locator(".badge")).to_have_text("Off")
    session.rollback()
    assert not session.scalars(select(Link).where(Link.url == "pear")).one().is_enabled
    here.get_by_role("searchbox").focus()
    opened(here)  # from a field, too
    expect(dialog(here).get_by_role("option", name="Duplicate")).to_have_count(0)


COMMANDS = {
    "dark": "html[data-theme=dark]",
    "comfortable": "html[data-density=comfortable]",
    "create link": "#sheet [name=location_url]:focus",
    "bulk": "#sheet [name=location_urls]:focus",
    "search links": "#ask-search:focus",
    "import links": "main input[type=file]",
    "sign out": "input[name=password]",
}


@pytest.mark.parametrize(("typed", "then"), COMMANDS.items(), ids=COMMANDS)
def test_commands(here: Page, typed: str, then: str) -> None:
    opened(here).keyboard.type(typed)
    expect(chosen(here)).to_be_visible()
    here.keyboard.press("Enter")
    expect(here.locator(then).first).to_be_visible()
    expect(dialog(here)).to_be_hidden()
