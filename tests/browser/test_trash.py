"""Undo, trash and history in the browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.accounts.models import User

pytestmark = [pytest.mark.browser, pytest.mark.full]


def delete(page: Page, name: str) -> None:
    row = page.get_by_role("listitem").filter(has_text=name)
    row.get_by_role("link", name="Delete").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_be_hidden()


def test_undo_trash_and_history(desk: Page, alice: User, make_pixel: Any, site: str) -> None:
    make_pixel(alice, name="My pixel")
    desk.goto(f"{site}/dashboard/pixels/")
    delete(desk, "My pixel")
    desk.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(desk.get_by_role("listitem").filter(has_text="My pixel")).to_be_visible()
    expect(desk.get_by_role("status").filter(has_text="My pixel is restored.")).to_be_visible()
    delete(desk, "My pixel")
    desk.goto(f"{site}/dashboard/trash/")
    desk.get_by_role("button", name="Restore My pixel").click()
    expect(desk.get_by_role("status").filter(has_text="My pixel is restored.")).to_be_visible()
    expect(desk.get_by_role("heading", name="The trash is empty")).to_be_visible()
