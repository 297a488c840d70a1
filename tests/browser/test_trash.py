"""Undo, trash and history in the browser, and the dashboard in German."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.accounts.models import User
from app.core.extensions import db
from app.links.models import Link

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


def test_in_german(
    context: BrowserContext, alice: User, make_link: Callable[..., Link], sign_in: Any, site: str
) -> None:
    alice.language = "de"
    db.session.commit()
    make_link(alice, "eins")
    desk = sign_in(context, alice)
    expect(desk.locator("html")).to_have_attribute("lang", "de")
    expect(desk.get_by_role("navigation", name="Hauptmenü")).to_contain_text("Papierkorb")
    desk.get_by_role("link", name="Link anlegen").click()
    dialog = desk.locator("#sheet")
    dialog.get_by_label("Ziel", exact=True).fill("javascript:alert(1)")
    dialog.get_by_role("button", name="Link anlegen").click()
    wrong = dialog.get_by_label("Ziel", exact=True)
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(wrong).to_be_focused()
    dialog.get_by_role("button", name="Schließen").click()
    question = desk.get_by_role("dialog", name="Eingaben verwerfen?")
    question.get_by_role("button", name="Verwerfen").click()
    expect(dialog).to_be_hidden()
