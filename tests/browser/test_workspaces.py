"""Workspaces in a browser: a viewer is offered nothing to change, and an owner deletes one and restores it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from sqlalchemy.orm import Session, scoped_session

from app.accounts import workspaces
from app.accounts.models import User, Workspace
from app.accounts.rights import OWNER, VIEWER
from app.links.models import Link
from tests.browser.test_accessibility import seen, violations
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture
def workspace(session: scoped_session[Session], alice: User, bob: User) -> Workspace:
    """Of alice and bob, who is a viewer, with a link."""
    session.add(Workspace(id=5000, name="Second"))
    session.flush()
    found = session.get_one(Workspace, 5000)
    for user, role in ((alice, OWNER), (bob, VIEWER)):
        workspaces.add_member(found, user, role)
    session.add(Link(workspace_id=5000, user_id=alice.id, url="there", location_url="https://example.com/"))
    session.commit()
    return found


def test_a_viewer_is_offered_nothing_to_change(
    context: BrowserContext, workspace: Workspace, bob: User, sign_in: Callable[..., Page], site: str
) -> None:
    page = sign_in(context, bob)
    page.goto(f"{site}/dashboard/w/5000/links/")
    expect(page.locator("#rows a.name")).to_have_count(1)
    expect(page.locator("#rows input, #many, [data-create]")).to_have_count(0)
    page.locator("#rows a.name").focus()
    for key in ("x", "e", "w", "d", "f", "Delete", "c"):
        page.keyboard.press(key)
    page.keyboard.press("Control+a")
    assert page.url == f"{site}/dashboard/w/5000/links/"
    expect(page.locator("#sheet[open], .inplace")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name="Search links")).to_be_visible()
    expect(page.get_by_role("option", name="Import links")).to_have_count(0)
    expect(page.get_by_role("option", name="Create link")).to_have_count(0)


def test_an_owner_deletes_and_restores_one(desk: Page, workspace: Workspace, site: str) -> None:
    desk.goto(f"{site}/dashboard/w/5000/workspace/")
    desk.get_by_role("link", name="Delete this workspace").click()
    sheet = desk.locator("#sheet[open]")
    expect(sheet.get_by_label("Name of the workspace")).to_be_visible()
    assert violations(desk, "#sheet") == []
    sheet.get_by_label("Name of the workspace").fill("Third")
    sheet.get_by_label("Current password").fill(PASSWORD)
    sheet.get_by_role("button", name="Delete the workspace").click()
    expect(sheet.get_by_text("This is not the name of this workspace.")).to_be_visible()
    sheet.get_by_label("Name of the workspace").fill("Second")
    sheet.get_by_label("Current password").fill(PASSWORD)
    sheet.get_by_role("button", name="Delete the workspace").click()
    expect(desk.get_by_role("status").get_by_text("its owners can restore it")).to_be_visible()
    desk.goto(f"{site}/dashboard/workspace/")
    assert {theme: found for theme, found in seen(desk).items() if found} == {}
    desk.get_by_role("button", name="Restore Second").click()
    desk.wait_for_url("**/w/5000/workspace/")
    expect(desk.get_by_role("status").get_by_text("Second is restored.")).to_be_visible()
