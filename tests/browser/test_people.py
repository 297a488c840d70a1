"""Users in the browser: inviting, disabling and deleting them; an owner's archive and own deletion."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

from app.accounts.models import User
from app.accounts.standing import state_of
from app.core.config import Settings
from app.core.extensions import db
from app.import_export import archives
from app.import_export.models import Archive

pytestmark = [pytest.mark.browser, pytest.mark.full]


def test_inviting_and_letting_go(browser: Browser, desk: Page, site: str, watch: Any, bob: User) -> None:
    desk.goto(f"{site}/dashboard/users/")
    desk.get_by_role("link", name="Invite a user").click()
    dialog = desk.get_by_role("dialog")
    dialog.get_by_label("E-mail").fill("eve@example.com")
    dialog.get_by_role("button", name="Create the invitation").click()
    address = dialog.locator("#new-invitation").inner_text()
    expect(dialog.get_by_role("button", name="Copy the address")).to_be_visible()
    dialog.get_by_role("button", name="Done").click()
    expect(desk.get_by_role("list", name="Open invitations")).to_contain_text("eve@example.com")

    with browser.new_context() as other:
        page = watch.on(other.new_page())
        page.goto(address)
        expect(page.get_by_label("E-mail")).to_have_value("eve@example.com")
        page.get_by_label("Password").fill("five small boats go upriver")
        page.get_by_role("button", name="Create the account").click()
        page.wait_for_url("**/dashboard/**")
        expect(page.get_by_role("link", name="Users")).to_have_count(0)
        desk.reload()
        desk.get_by_role("link", name="Disable eve@example.com").click()
        expect(dialog).to_contain_text("Its links keep working")
        dialog.get_by_role("button", name="Disable user").click()
        expect(desk.get_by_role("status").filter(has_text="is disabled.")).to_be_visible()
        page.goto(f"{site}/dashboard/links/")
        expect(page).to_have_url(re.compile("/login"))

    desk.get_by_role("link", name="Delete bob@example.com").click()
    dialog.get_by_role("button", name="Delete user").click()
    row = desk.locator(f"#row-{bob.id}")
    expect(row).to_contain_text("Deleted for good after")
    desk.get_by_role("button", name="Undo").last.click()
    expect(row.locator(".badge")).to_have_count(0)
    db.session.rollback()  # or it would go on with what it read before
    db.session.refresh(bob)
    assert state_of(bob) == "active"
    desk.get_by_role("searchbox").fill("bob")
    expect(desk.locator("#rows > li")).to_have_count(1)


def test_figures_move_and_the_focus_does_not(desk: Page, site: str, app: Flask) -> None:
    desk.goto(f"{site}/dashboard/instance/")
    table = desk.get_by_role("region", name="Table of settings")
    table.focus()
    for _ in range(2):
        with desk.expect_response(f"{site}/dashboard/instance/"):
            pass
    expect(desk.locator("#live")).to_have_count(1)
    expect(table).to_be_focused()


def test_taking_everything(desk: Page, site: str, settings: Settings, tmp_path: Any) -> None:
    desk.goto(f"{site}/dashboard/account/")
    desk.get_by_role("button", name="Create the file").click()
    expect(desk.locator("#download")).to_contain_text("You may leave this page")
    db.session.rollback()
    row = db.session.scalars(select(Archive)).one()
    archives.run(row.id, settings)
    with desk.expect_download() as found:
        desk.get_by_role("link", name="Download").click()
    assert re.fullmatch(r"waypost-\d{4}-\d\d-\d\d\.zip", found.value.suggested_filename)
    assert found.value.path().stat().st_size == archives.path_of(settings.data_dir, row.file).stat().st_size


def test_leaving(desk: Page, site: str, alice: User) -> None:
    desk.goto(f"{site}/dashboard/account/")
    desk.get_by_role("link", name="Delete your account").click()
    dialog = desk.get_by_role("dialog")
    dialog.get_by_label("Your e-mail address").fill("alice@example.com")
    dialog.get_by_label("Current password").fill("not this one")
    dialog.get_by_role("button", name="Delete my account").click()
    expect(dialog).to_contain_text("This is not your current password.")
    dialog.get_by_label("Current password").fill("correct horse battery staple")
    dialog.get_by_role("button", name="Delete my account").click()
    desk.wait_for_url("**/login**")
    expect(desk.get_by_role("status").first).to_contain_text("an admin can restore it")
    db.session.rollback()
    db.session.refresh(alice)
    assert alice.deleted_datetime
