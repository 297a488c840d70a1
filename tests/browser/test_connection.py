"""A stale token, and leaving a page: nothing that was typed is lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watch

pytestmark = [pytest.mark.browser, pytest.mark.full]
DESTINATION = "https://example.com/typed"
PREVIEW = "**/dashboard/links/preview"


def filled_in(page: Page) -> None:
    """Fill the form in, and wait for both of its previews: no request of theirs is left for what follows."""
    page.get_by_role("link", name="Create link").click()
    destination = page.get_by_role("dialog").get_by_label("Destination", exact=True)
    with page.expect_response(PREVIEW):
        destination.fill(DESTINATION)
    with page.expect_response(PREVIEW):
        destination.blur()  # as pressing the button would: a field that is left has changed


def send(page: Page) -> None:
    page.get_by_role("dialog").get_by_role("button", name="Create link").click()


def test_a_stale_token_is_renewed(desk: Page, watch: Watch) -> None:
    """The CSRF token gets stale when the owner signs in again in another tab."""
    filled_in(desk)
    desk.evaluate("document.querySelectorAll('[name=csrf_token]').forEach(input => (input.value = 'old'))")
    send(desk)
    expect(desk.get_by_role("status").filter(has_text="Send it once more.")).to_be_visible()
    assert [one for one in watch.complaints if "403" not in one] == []
    watch.complaints.clear()
    send(desk)
    expect(desk.get_by_role("status").filter(has_text="is created.")).to_be_visible()


def test_closing_asks_before_what_was_typed_is_lost(desk: Page) -> None:
    filled_in(desk)
    destination = desk.locator("#sheet").get_by_label("Destination", exact=True)
    question = desk.get_by_role("dialog", name="Discard what you have typed?")
    desk.keyboard.press("Escape")
    expect(destination).to_have_value(DESTINATION)
    question.get_by_role("button", name="Keep editing").click()
    expect(question).to_be_hidden()
    expect(destination).to_be_visible()
    expect(destination).to_have_value(DESTINATION)
    desk.keyboard.press("Escape")
    question.get_by_role("button", name="Discard").click()
    expect(desk.get_by_role("dialog")).to_be_hidden()
    desk.get_by_role("link", name="Create link").click()
    expect(destination).to_have_value("")
