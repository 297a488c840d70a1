"""Pixels, handlers and API keys: creating, editing and deleting them in dialogs."""

from __future__ import annotations

import json
import subprocess

import pytest
import requests
from playwright.sync_api import Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import ApiKey
from tests.browser.conftest import stepped_back

pytestmark = pytest.mark.browser


def said(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text=text)).to_be_visible()


def test_a_key_is_shown_once_with_a_command_that_works(
    desk: Page, session: scoped_session[Session], site: str
) -> None:
    desk.get_by_role("link", name="API keys").click()
    desk.get_by_role("link", name="Create API key").click()
    dialog = desk.get_by_role("dialog")
    dialog.get_by_label("Name").fill("shop")
    dialog.get_by_role("button", name="Create API key").click()
    key = dialog.locator("#new-key").inner_text()
    command = dialog.locator("pre").nth(1).inner_text()
    assert command == f'curl {site}/api/links/ -H "Authorization: Bearer {key}"'
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog.get_by_role("button", name="Copy the command").click()
    copied = desk.evaluate("navigator.clipboard.readText()")
    assert copied == command
    done = subprocess.run(["sh", "-c", copied], capture_output=True, text=True, check=True, timeout=30)
    assert json.loads(done.stdout)["data"] == []
    dialog.get_by_role("button", name="Done").click()
    row = desk.get_by_role("listitem").filter(has_text="shop")
    expect(row).to_contain_text(key[:11])
    stepped_back(desk)
    desk.reload()
    assert key not in desk.content()
    row.get_by_role("link", name="Revoke shop").click()
    dialog.get_by_role("button", name="Revoke API key").click()
    said(desk, "shop is revoked.")
    expect(row).to_contain_text("Revoked")
    session.rollback()
    assert session.scalars(select(ApiKey)).one().revoked_datetime
    answer = requests.get(f"{site}/api/links/", headers={"Authorization": f"Bearer {key}"}, timeout=10)
    assert answer.status_code == 401
