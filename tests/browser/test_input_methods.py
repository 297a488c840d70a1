"""Words that an input method composes (Japanese, Chinese, Korean): the Enter that takes one does nothing else."""

from __future__ import annotations

from itertools import cycle

import pytest
from playwright.sync_api import Locator, Page, expect

from app.accounts.models import User
from tests.factories import Factory

pytestmark = [pytest.mark.browser, pytest.mark.full]

WORD = "にほん"
ENTER = {"key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}


def in_search(page: Page) -> Locator:
    return page.get_by_role("searchbox")


def in_destination(page: Page) -> Locator:
    page.keyboard.press("c")
    return page.get_by_role("dialog").get_by_label("Destination", exact=True).first


def in_tags(page: Page) -> Locator:
    page.keyboard.press("c")
    page.get_by_role("dialog").locator("summary").first.click()
    return page.get_by_role("dialog").get_by_label("Tags")


def in_its_place(page: Page) -> Locator:
    page.locator("#rows a.name").focus()
    page.keyboard.press("w")
    return page.locator(".inplace input[name=location_url]")


PLACES = {"search": in_search, "destination": in_destination, "tags": in_tags, "in its place": in_its_place}


# while composing, and just composed, as in Safari
@pytest.mark.parametrize(("code", "place"), [*zip(cycle([13, 229]), PLACES, strict=False)])
def test_enter_takes_the_word_alone(desk: Page, alice: User, factory: Factory, place: str, code: int) -> None:
    factory.link(alice, "one")
    desk.reload()
    field = PLACES[place](desk)
    expect(field).to_be_visible()
    field.fill("")
    field.focus()
    writes: list[str] = []
    desk.on(
        "request",
        lambda request: writes.append(request.url) if is_write(request.method, request.url) else None,
    )
    method = desk.context.new_cdp_session(desk)
    method.send("Input.imeSetComposition", {"text": WORD, "selectionStart": 3, "selectionEnd": 3})
    expect(field).to_have_value(WORD)
    if code == 229:
        method.send("Input.insertText", {"text": WORD})
    method.send("Input.dispatchKeyEvent", {"type": "keyDown", **ENTER, "windowsVirtualKeyCode": code})
    method.send("Input.dispatchKeyEvent", {"type": "keyUp", **ENTER, "windowsVirtualKeyCode": code})
    expect(field).to_be_focused()
    expect(field).to_have_value(WORD)
    expect(desk.locator("dialog .tag-box .chip")).to_have_count(0)
    assert writes == []


def is_write(method: str, url: str) -> bool:
    return method == "POST" and not url.endswith("/preview")
