"""The owner's first steps: from the set-up address to a link that is copied, and to its first click."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, Page, expect

BROWSER = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
)
DESTINATION = "https://example.com/a/long/address?with=much"


class Hand:
    """Uses a page and counts the steps: a field filled in, a key, a click, a paste."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def types(self, field: Locator, text: str) -> None:
        self.count += 1
        field.fill(text)

    def press(self, key: str) -> None:
        self.count += 1
        self.page.keyboard.press(key)

    def click(self, target: Locator) -> None:
        self.count += 1
        target.click()


def said(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text=text).first).to_be_visible()


def copied(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def set_up_and_create(hand: Hand) -> None:
    """From the open set-up address to a link that is created and copied, by keys."""
    page = hand.page
    expect(page.get_by_label("E-mail")).to_be_focused()
    hand.types(page.get_by_label("E-mail"), "owner@example.com")
    hand.types(page.get_by_label("Password"), "five small boats go upriver")
    hand.press("Enter")
    expect(page.get_by_role("heading", name="Create your first short link")).to_be_visible()
    page.wait_for_load_state("load")
    hand.press("c")
    destination = page.get_by_role("dialog").get_by_label("Destination", exact=True)
    expect(destination).to_be_focused()
    hand.types(destination, DESTINATION)
    hand.press("Enter")
    said(page, "is created. Copied.")


def click_and_see_it(browser: Browser, page: Page) -> None:
    """A visitor opens the copied link; the owner reloads the list until it counts."""
    visitor = browser.new_context()
    shown = visitor.request.get(copied(page), max_redirects=0, headers={"User-Agent": BROWSER})
    assert shown.status == 302
    visitor.close()
    row = page.locator("#rows > .row")
    while not row.get_by_text(re.compile("^1 click")).first.is_visible():
        page.reload()
