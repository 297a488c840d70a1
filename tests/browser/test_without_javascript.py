"""The dashboard without JavaScript: a link from its creation to its deletion, search, and colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import Link

pytestmark = pytest.mark.browser


@pytest.fixture
def desk(browser: Browser, alice: User, sign_in: Callable[[BrowserContext, User], Page]) -> Iterator[Page]:
    context = browser.new_context(java_script_enabled=False)
    yield sign_in(context, alice)
    context.close()


def said(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text=text)).to_be_visible()


def test_a_link_is_made_changed_and_deleted(desk: Page, session: scoped_session[Session], site: str) -> None:
    desk.get_by_role("link", name="Create link").click()
    expect(desk).to_have_url(f"{site}/dashboard/links/new")
    desk.get_by_label("Short link").fill("first")
    desk.get_by_label("Destination", exact=True).first.fill("javascript:alert(1)")
    desk.get_by_role("button", name="Create link").click()
    expect(desk.get_by_text("This must be an address that begins with http")).to_be_visible()
    expect(desk.get_by_label("Short link")).to_have_value("first")
    desk.get_by_label("Destination", exact=True).first.fill("https://example.com/")
    desk.get_by_label("Short link").press("Enter")
    said(desk, "/first is created.")
    desk.get_by_role("link", name="Edit 127").click()
    desk.locator("summary", has_text="Targeting").click()
    desk.get_by_label("Target visitors by").select_option("os_name")
    for number, (key, value) in enumerate(
        [("Linux", "https://l.example/"), ("iOS", "https://i.example/")], 1
    ):
        desk.get_by_label(f"Operating system {number}").fill(key)
        group = desk.get_by_role("group", name="Operating system")
        group.get_by_label(f"Destination {number}").fill(value)
        if number == 1:
            group.get_by_role("button", name="Add a line").click()
            desk.locator("summary", has_text="Targeting").click()
    desk.get_by_role("button", name="Save link").click()
    said(desk, "/first is saved.")
    session.rollback()
    link = session.scalars(select(Link)).one()
    assert link.targeting == [["Linux", "https://l.example/"], ["iOS", "https://i.example/"]]
    assert link.is_enabled
    desk.get_by_role("link", name="More for 127").click()
    desk.get_by_role("button", name="Turn off").click()
    said(desk, "/first is off.")
    desk.get_by_role("link", name="More for 127").click()
    desk.get_by_role("link", name="Change destination").click()
    desk.get_by_label("Destination of 127").fill("example.com/other")
    desk.get_by_role("button", name="Save").click()
    expect(desk.get_by_role("link", name="https://example.com/other")).to_be_visible()
    desk.get_by_role("link", name="More for 127").click()
    desk.get_by_role("link", name="Delete").click()
    desk.get_by_role("button", name="Delete link").click()
    said(desk, "/first is deleted.")
    expect(desk.get_by_role("heading", name="Create your first short link")).to_be_visible()
