"""First run: the number of steps from set-up to a copied short link, and to the first counted click."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.conftest import Watch
from tests.browser.first_run import DESTINATION, Hand, copied, said, set_up_and_create
from tests.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture(params=[1280, pytest.param(390, marks=pytest.mark.full)])
def own_context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """A browser context whose scripts may read the clipboard, of a desktop's width and of a phone's."""
    context = browser.new_context(
        permissions=["clipboard-read", "clipboard-write"], viewport={"width": request.param, "height": 844}
    )
    yield context
    context.close()


def test_from_the_set_up_address_to_a_link_copied(
    own_context: BrowserContext, make_server: Callable[..., Server]
) -> None:
    server = make_server()
    watch = Watch(server.url)
    page = watch.on(own_context.new_page())
    hand = Hand(page)
    page.goto(server.url)
    expect(page.get_by_text("There is no account yet. Open the set-up address")).to_be_visible()
    page.goto(server.setup_address())
    set_up_and_create(hand)
    assert hand.count <= 6
    short = copied(page)
    assert short.startswith(f"{server.url}/")
    assert page.request.get(short, max_redirects=0).headers["location"] == DESTINATION
    page.locator("#rows a.name").first.focus()
    page.keyboard.press("Delete")
    page.get_by_role("button", name="Look around with sample data").click()
    said(page, "The sample data is there.")
    expect(page.locator("#rows > .row")).to_have_count(6)
    page.get_by_role("button", name="Remove sample data").click()
    said(page, "The sample data is gone.")
    expect(page.locator("#rows > .row")).to_have_count(0)
    assert watch.complaints == []
