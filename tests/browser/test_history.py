"""Restoring an earlier version of a link with its undo, wide and on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.actor import Actor, act_as
from app.core.database import begin_write
from app.core.extensions import db
from app.links import services
from app.links.models import Link
from tests.browser.test_before_saving import accessible

pytestmark = [pytest.mark.browser, pytest.mark.full]

TO = "https://example.com/"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
WIDTHS = pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])


@pytest.fixture
def link(alice: User) -> Link:
    """A link that a key has made and an import has changed."""
    act_as(Actor("api", "Deploy script", alice.id, alice.email, "wp_abcdefgh"))
    begin_write(db.session)
    link = services.create(access_of(alice), {"location_url": f"{TO}first", "url": "sale", "title": "First"})
    db.session.commit()
    act_as(Actor("import", "links-of-the-whole-autumn.csv", alice.id, alice.email))
    begin_write(db.session)
    services.update(link, {"location_url": f"{TO}second", "title": "Second"})
    db.session.commit()
    return link


def open_history(page: Page, site: str) -> Any:
    page.goto(f"{site}/dashboard/links/")
    row = page.get_by_role("listitem").filter(has_text="/sale")
    row.get_by_role("link", name="Edit 127").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("link", name="History").click()
    expect(dialog.locator(".history")).to_be_visible()
    return dialog


@WIDTHS
def test_an_earlier_version_is_restored_and_undone(
    desk: Page, site: str, link: Link, size: Any, session: Any
) -> None:
    desk.set_viewport_size(size)
    dialog = open_history(desk, site)
    expect(dialog.locator(".history")).to_contain_text("Deploy script (API key of alice@example.com)")
    expect(dialog.locator(".history")).to_contain_text(
        "links-of-the-whole-autumn.csv (import by alice@example.com)"
    )
    accessible(desk)
    row = desk.locator(f"#row-{link.id}")
    dialog.get_by_role("button", name="Restore this version of").press("Enter")
    told = desk.get_by_role("status").filter(has_text="/sale is restored.")
    expect(told).to_be_visible()
    expect(dialog).to_be_hidden()
    expect(row).to_contain_text("example.com/first")
    told.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("example.com/second")
    session.rollback()
    assert session.get_one(Link, link.id).title == "Second"
