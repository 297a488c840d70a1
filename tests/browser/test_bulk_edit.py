"""Bulk edit of destinations: preview, apply, and undo as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.links.models import Link
from tests.browser.test_accessibility import sideways, violations

pytestmark = [pytest.mark.browser, pytest.mark.full]
WIDTHS = pytest.mark.parametrize("width", [1280, 390])


def destinations(session: scoped_session[Session], user: User) -> dict[str, str]:
    session.rollback()
    return {
        one.url: one.location_url
        for one in session.scalars(select(Link).where(Link.workspace_id == access_of(user).workspace_id))
    }


def select_all(page: Page, total: int) -> Locator:
    """Select all links by keys and the bar's box. Returns the bar."""
    page.keyboard.press("j")
    page.keyboard.press("Control+a")
    bar = page.locator("#many")
    bar.get_by_role("checkbox", name=f"All {total} links").check()
    return bar


@WIDTHS
def test_200_destinations_are_replaced_and_come_back(
    desk: Page, alice: User, make_link: Callable[..., Link], session: scoped_session[Session], width: int
) -> None:
    before = {f"n{n}": f"https://old.example/{n}?from=old.example" for n in range(200)}
    for name, destination in before.items():
        make_link(alice, name, location_url=destination)
    desk.set_viewport_size({"width": width, "height": 800})
    desk.reload()
    select_all(desk, 200).get_by_role("button", name="Find and replace").click()
    dialog = desk.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Find and replace in 200 links")).to_be_visible()
    dialog.get_by_label("Find", exact=True).fill("old.example")
    dialog.get_by_label("Replace with").fill("new.example")
    dialog.get_by_label("Only in the host").check()
    assert [*violations(desk, "dialog"), *sideways(desk)] == []
    dialog.get_by_role("button", name="Preview changes").click()
    expect(dialog.get_by_role("heading", name="Preview: 200 links change")).to_be_visible()
    first = dialog.get_by_role("list", name="Changes").get_by_role("listitem").first
    expect(first.locator(".before")).to_have_text("Before: https://old.example/0?from=old.example")
    expect(first.locator(".after")).to_have_text("After: → https://new.example/0?from=old.example")
    expect(first.locator("del")).to_have_text(["old.example"])
    expect(first.locator("ins")).to_have_text(["new.example"])
    assert [*violations(desk, "dialog"), *sideways(desk)] == []
    assert destinations(session, alice) == before  # nothing is stored yet
    dialog.get_by_role("button", name="Change 200 links").click()
    expect(desk.get_by_role("status").filter(has_text="200 links are changed.")).to_be_visible()
    after = {f"n{n}": f"https://new.example/{n}?from=old.example" for n in range(200)}
    assert destinations(session, alice) == after
    desk.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(desk.get_by_role("status").filter(has_text="200 links are as they were.")).to_be_visible()
    assert destinations(session, alice) == before
