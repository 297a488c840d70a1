"""What was typed is not lost: leaving a form that was begun asks first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from app.accounts.models import User
from app.links.models import Link
from tests.browser.conftest import wait_until

pytestmark = pytest.mark.browser
TYPED = "https://example.com/typed"


@pytest.fixture
def asked(desk: Page) -> list[str]:
    """The kinds of questions that the browser asks. Each is answered by staying."""
    kinds: list[str] = []

    def stay(dialog: Dialog) -> None:
        kinds.append(dialog.type)
        dialog.dismiss()

    desk.on("dialog", stay)
    return kinds


def begin(page: Page) -> Any:
    page.get_by_role("link", name="Create link").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Destination", exact=True)).to_be_focused()
    return dialog


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("way", ["location.reload()", "location.assign('/dashboard/pixels/')"])
def test_leaving_the_page_asks(desk: Page, asked: list[str], way: str, width: int) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    dialog = begin(desk)
    desk.keyboard.type(TYPED)
    desk.evaluate(f"setTimeout(() => {way})")
    wait_until(desk, lambda: bool(asked))
    assert asked == ["beforeunload"]
    expect(dialog.get_by_label("Destination", exact=True)).to_have_value(TYPED)


def test_a_form_with_nothing_typed_does_not_ask(desk: Page, asked: list[str]) -> None:
    begin(desk)
    desk.reload()
    expect(desk.get_by_role("dialog")).to_be_hidden()
    assert asked == []


def test_a_form_with_an_error_asks_still(desk: Page) -> None:
    dialog = begin(desk)
    desk.keyboard.type("javascript:alert(1)")
    desk.keyboard.press("Enter")
    expect(dialog.get_by_label("Destination", exact=True)).to_have_attribute("aria-invalid", "true")
    desk.keyboard.press("Escape")
    question = desk.get_by_role("dialog", name="Discard what you have typed?")
    expect(question.get_by_role("button", name="Keep editing")).to_be_focused()
    desk.keyboard.press("Escape")
    expect(question).to_be_hidden()
    expect(dialog.get_by_label("Destination", exact=True)).to_have_value("javascript:alert(1)")


def test_a_page_of_its_own_asks_and_saving_does_not(
    desk: Page, asked: list[str], alice: User, make_link: Callable[..., Link]
) -> None:
    link = make_link(alice, "old", location_url="https://example.com/old")
    desk.goto(f"{desk.url}{link.id}")
    desk.get_by_label("Destination", exact=True).fill(TYPED)
    desk.get_by_role("link", name="Pixels", exact=True).click()
    wait_until(desk, lambda: bool(asked))
    assert asked == ["beforeunload"]
    desk.get_by_role("button", name="Save link").click()
    expect(desk.get_by_role("status").filter(has_text="/old is saved.")).to_be_visible()
    assert asked == ["beforeunload"]
