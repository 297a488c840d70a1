"""Leaving a dialog by Back, its buttons and its keys: what was typed is asked about, and Back leads where it led before."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from app.accounts.models import User
from app.links.models import Link
from tests.browser.conftest import stepped_back

pytestmark = [pytest.mark.browser, pytest.mark.full]
TYPED = "https://example.com/typed"
WIDTHS = pytest.mark.parametrize("width", [1280, 390])


@pytest.fixture
def listed(desk: Page, alice: User, make_link: Callable[..., Link], width: int) -> Page:
    """The list of links after a search: the history has the list's own step."""
    desk.set_viewport_size({"width": width, "height": 800})
    for name in ("apple", "pear"):
        make_link(alice, name, location_url=f"https://example.com/{name}")
    desk.reload()
    desk.get_by_role("searchbox").fill("apple")
    expect(desk).to_have_url(re.compile("search=apple"))
    expect(rows(desk)).to_have_count(1)
    return desk


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Links").get_by_role("listitem")


def begin(page: Page, text: str = "") -> Any:
    page.get_by_role("link", name="Create link").click()
    dialog = page.locator("#sheet")
    expect(dialog.get_by_label("Destination", exact=True)).to_be_focused()
    page.keyboard.type(text)
    return dialog


def question(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Discard what you have typed?")


def back(page: Page) -> None:
    """As the browser's button and the phone's gesture do it: nothing of the page waits for it."""
    page.evaluate("setTimeout(() => history.back())")


@WIDTHS
def test_back_closes_an_untouched_dialog_and_then_goes_on(listed: Page, width: int) -> None:
    dialog = begin(listed)
    back(listed)
    expect(dialog).to_be_hidden()
    expect(listed).to_have_url(re.compile("search=apple"))
    expect(listed.get_by_role("link", name="Create link")).to_be_focused()
    back(listed)
    expect(rows(listed)).to_have_count(2)
    expect(listed.get_by_role("searchbox")).to_have_value("")


@WIDTHS
def test_back_with_typed_text_asks_and_keeps_it(listed: Page, width: int) -> None:
    dialog = begin(listed, TYPED)
    field = dialog.get_by_label("Destination", exact=True)
    for answer in ("Escape", "Enter", "click"):
        back(listed)
        keep = question(listed).get_by_role("button", name="Keep editing")
        expect(keep).to_be_focused()
        keep.click() if answer == "click" else listed.keyboard.press(answer)
        expect(question(listed)).to_be_hidden()
        expect(field).to_have_value(TYPED)
        expect(field).to_be_focused()
    back(listed)
    expect(question(listed)).to_be_visible()
    back(listed)  # once more, instead of an answer
    expect(question(listed)).to_be_hidden()
    expect(field).to_have_value(TYPED)


@WIDTHS
def test_discarding_leads_where_back_led(listed: Page, width: int) -> None:
    dialog = begin(listed, TYPED)
    back(listed)
    question(listed).get_by_role("button", name="Discard").click()
    expect(dialog).to_be_hidden()
    expect(listed).to_have_url(re.compile("search=apple"))
    expect(listed.get_by_role("link", name="Create link")).to_be_focused()
    stepped_back(listed)
    back(listed)
    expect(rows(listed)).to_have_count(2)


@pytest.mark.parametrize(
    ("width", "way"), [(1280, "Escape"), (390, "Close"), (390, "Cancel"), (1280, "Create link")]
)
def test_nothing_is_left_in_the_history(listed: Page, width: int, way: str) -> None:
    """However the dialog was closed, Back leads to the list's step before, and Forward opens nothing."""
    dialog = begin(listed, TYPED if way == "Create link" else "")
    if way == "Escape":
        listed.keyboard.press(way)
    else:
        dialog.get_by_role("button", name=way).click()
    expect(dialog).to_be_hidden()
    stepped_back(listed)
    back(listed)
    expect(listed).to_have_url(re.compile("/links/$"))
    expect(listed.get_by_role("searchbox")).to_have_value("")
    listed.evaluate("setTimeout(() => history.forward())")
    expect(listed).to_have_url(re.compile("search=apple"))
    expect(dialog).to_be_hidden()


@WIDTHS
def test_dialogs_work_after_a_step_back(listed: Page, width: int) -> None:
    """The list's step before comes as a whole page: its dialogs ask, and close, as those of the first."""
    back(listed)
    expect(rows(listed)).to_have_count(2)
    dialog = begin(listed, TYPED)
    back(listed)
    question(listed).get_by_role("button", name="Keep editing").click()
    expect(dialog.get_by_label("Destination", exact=True)).to_have_value(TYPED)
    listed.keyboard.press("Escape")
    question(listed).get_by_role("button", name="Discard").click()
    expect(dialog).to_be_hidden()
    begin(listed)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()
    expect(listed.get_by_role("link", name="Create link")).to_be_focused()
    listed.locator("[data-menu]").first.click()
    expect(listed.locator("#row-menu")).to_be_visible()
