"""First run: the number of steps from set-up to a copied short link, and to a working handler."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from app.accounts.models import User
from tests.browser.conftest import Watch
from tests.notifications.receivers import WebReceiver
from tests.server import Server

pytestmark = pytest.mark.browser
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36"
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


@pytest.fixture
def own_context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser context whose scripts may read the clipboard."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context
    context.close()


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


def test_from_the_set_up_address_to_the_first_counted_click(
    own_context: BrowserContext, make_server: Callable[..., Server]
) -> None:
    """Within a minute, of which most is the tester's own machine: six steps of the owner, one of the visitor."""
    server = make_server()
    page = Watch(server.url).on(own_context.new_page())
    hand = Hand(page)
    began = time.monotonic()
    page.goto(server.setup_address())
    set_up_and_create(hand)
    visitor = own_context.browser.new_context()  # type: ignore[union-attr]
    shown = visitor.request.get(copied(page), max_redirects=0, headers={"User-Agent": BROWSER})
    assert shown.status == 302
    row = page.locator("#rows > .row")
    while not row.get_by_text(re.compile("^1 click")).first.is_visible():
        assert time.monotonic() - began < 60
        hand.page.reload()
    assert hand.count <= 6
    assert time.monotonic() - began < 60
    visitor.close()


def test_the_first_account_has_the_browsers_language_and_time_zone(
    browser: Browser, make_server: Callable[..., Server]
) -> None:
    server = make_server()
    watch = Watch(server.url)
    with closing(browser.new_context(timezone_id="Europe/Berlin", locale="de-DE")) as context:
        page = watch.on(context.new_page())
        page.goto(server.setup_address())
        page.get_by_label("E-Mail").fill("owner@example.com")
        page.get_by_label("Passwort").fill("five small boats go upriver")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("/dashboard/links/"))
        page.goto(f"{server.url}/dashboard/account/")
        expect(page.locator("[name=timezone]")).to_have_value("Europe/Berlin")
        expect(page.locator("[name=language]")).to_have_value("de")
    assert watch.complaints == []


def test_shortened_and_copied_after_a_paste(
    own_context: BrowserContext, alice: User, sign_in: Callable[[BrowserContext, User], Page], site: str
) -> None:
    page = sign_in(own_context, alice)
    for where in ("links/", "statistics/"):
        page.goto(f"{site}/dashboard/{where}")
        page.evaluate("text => navigator.clipboard.writeText(text)", DESTINATION + where)
        page.keyboard.press("Control+V")
        hand = Hand(page)
        destination = page.get_by_role("dialog").get_by_label("Destination", exact=True)
        expect(destination).to_have_value(DESTINATION + where)
        hand.press("Enter")
        said(page, "is created. Copied.")
        assert hand.count <= 2
        assert copied(page).startswith(f"{site}/")


@pytest.fixture
def web() -> Iterator[WebReceiver]:
    receiver = WebReceiver()
    yield receiver
    receiver.stop()


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
def test_a_handler_made_and_tested(desk: Page, web: WebReceiver) -> None:
    """The type suggests a name, which can be changed."""
    hand = Hand(desk)
    hand.click(desk.get_by_role("link", name="Handlers"))
    hand.click(desk.get_by_role("link", name="Create handler"))
    dialog = desk.get_by_role("dialog")
    hand.click(dialog.get_by_role("radio", name="Webhook"))
    hand.types(dialog.get_by_role("group", name="Webhook").get_by_label("Address"), f"{web.url}/hook")
    hand.press("Enter")
    said(desk, "Webhook is created.")
    hand.click(desk.get_by_role("button", name="Test Webhook"))
    said(desk, "The test has arrived at Webhook.")
    assert hand.count <= 6
    assert [heard.path for heard in web.heard] == ["/hook"]
