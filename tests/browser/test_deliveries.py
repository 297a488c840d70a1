"""A failing handler: testing it in the list, reading its log, and enabling it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.accounts.models import User
from app.notifications.outbox import switch_off

pytestmark = [pytest.mark.browser, pytest.mark.full]


def test_a_handler_that_fails(
    desk: Page, alice: User, make_handler: Callable[..., Any], session: Any
) -> None:
    settings = {"webhook": "http://127.0.0.1:9/hook", "secret": "whsec_" + "A" * 44}
    handler = make_handler(alice, "webhook", name="Shop", settings=settings)
    switch_off(handler, "No notification has arrived for five days.")
    session.commit()
    desk.get_by_role("link", name="Handlers").click()
    row = desk.get_by_role("listitem").filter(has_text="Shop")
    expect(row).to_contain_text("Turned off")
    row.get_by_role("button", name="Turn on Shop").click()
    expect(desk.get_by_text("Shop is on again.")).to_be_visible()
    expect(row).not_to_contain_text("Turned off")
    row.get_by_role("button", name="Test Shop").click()
    told = "The test has not arrived at Shop: This address is in a private network"
    expect(desk.get_by_text(told)).to_be_visible()
    expect(row).to_contain_text("Test failed")
    row.get_by_role("link", name="Delivery log of Shop").click()
    expect(desk.get_by_role("heading", name="Delivery log of Shop")).to_be_visible()
    first = desk.get_by_role("list", name="Deliveries").get_by_role("listitem").first
    first.locator("summary").press("Enter")
    expect(first).to_contain_text("This address is in a private network")
    expect(first).to_contain_text('"type": "handler.test"')
    desk.get_by_role("button", name="Test Shop").click()
    expect(desk.get_by_text(told)).to_be_visible()
    expect(desk.locator("details.fold")).to_have_count(2)
    desk.get_by_role("link", name="Edit Shop").click()
    secret = desk.locator("pre[aria-labelledby=made-secret]")
    before = secret.text_content()
    desk.get_by_role("button", name="Create a new secret").click()
    expect(secret).not_to_have_text(before or "")
