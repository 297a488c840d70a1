"""Lost connections, ended sessions and double presses: nothing that was typed is lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import func, select
from sqlalchemy.orm import Session, scoped_session

from app.links.models import Link
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


def test_a_lost_connection_says_so_and_loses_nothing(desk: Page, watch: Watch) -> None:
    filled_in(desk)
    desk.context.set_offline(True)
    send(desk)
    expect(desk.get_by_role("status").filter(has_text="no connection to the server")).to_be_visible()
    expect(desk.get_by_role("dialog").get_by_label("Destination", exact=True)).to_have_value(DESTINATION)
    assert any("ERR_INTERNET_DISCONNECTED" in one for one in watch.complaints)
    watch.complaints.clear()
    desk.context.set_offline(False)
    send(desk)
    expect(desk.get_by_role("status").filter(has_text="is created.")).to_be_visible()


def test_a_session_that_ended_loses_nothing(desk: Page, watch: Watch) -> None:
    """The page says so and stays as it is. Once the session is back, the same press saves."""
    filled_in(desk)
    destination = desk.locator("#sheet").get_by_label("Destination", exact=True)
    cookies = desk.context.cookies()
    desk.context.clear_cookies()
    send(desk)
    over = desk.get_by_role("dialog", name="You are signed out")
    expect(over).to_contain_text("What you typed is still here.")
    expect(over.get_by_role("link", name="Sign in in a new tab")).to_be_focused()
    expect(destination).to_have_value(DESTINATION)
    assert [one for one in watch.complaints if "401" not in one] == []
    watch.complaints.clear()
    desk.context.add_cookies(cookies)  # type: ignore[arg-type]
    over.get_by_role("button", name="Not now").click()
    expect(over).to_be_hidden()
    expect(destination).to_have_value(DESTINATION)
    send(desk)
    expect(desk.get_by_role("status").filter(has_text="is created.")).to_be_visible()


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


def test_pressed_twice_is_sent_once_and_shows_that_it_goes_on(
    desk: Page, session: scoped_session[Session]
) -> None:
    held: list[Route] = []
    desk.route(
        "**/dashboard/links/new",
        lambda route: held.append(route) if route.request.method == "POST" else route.continue_(),
    )
    filled_in(desk)
    button = desk.get_by_role("dialog").get_by_role("button", name="Create link")
    button.dblclick()
    desk.get_by_role("dialog").get_by_label("Destination", exact=True).press("Enter")
    expect(button).to_be_disabled()
    assert len(held) == 1
    going_on = desk.locator("#progress")
    expect(going_on).to_have_css("opacity", "1")
    expect(going_on).to_have_css("transition-delay", "0.15s")  # a quick answer shows no sign of waiting
    held[0].continue_()
    expect(desk.get_by_role("status").filter(has_text="is created.")).to_be_visible()
    expect(going_on).to_have_css("opacity", "0")
    session.rollback()
    assert session.scalar(select(func.count()).select_from(Link)) == 1


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
