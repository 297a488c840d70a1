"""What was typed is not lost: leaving a form that was begun asks first."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

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
