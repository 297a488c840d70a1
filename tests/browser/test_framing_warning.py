"""The warning that a cloaked link's destination forbids frames stands beside the saved message."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from app.dashboard.links import framing_check

pytestmark = [pytest.mark.browser, pytest.mark.full]


def test_the_warning_stands_beside_the_message(desk: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing_check, "is_forbidden", lambda *_: True)
    desk.get_by_role("link", name="Create link").click()
    dialog = desk.get_by_role("dialog")
    dialog.get_by_label("Destination", exact=True).first.fill("https://shop.example/")
    dialog.locator("summary", has_text="Appearance").click()
    dialog.get_by_role("switch", name="Cloaking").check()
    dialog.get_by_role("button", name="Create link").click()
    expect(desk.get_by_text("is created.")).to_be_visible()
    warning = desk.locator(".toast.bad", has_text="shop.example forbids being shown in a frame")
    expect(warning).to_be_visible()
    warning.get_by_role("button", name="Dismiss this message").click()
    expect(warning).to_be_hidden()
