"""Deletions in every list: the focus goes to the next row, and where there is an undo, Ctrl+Z does it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.accounts.models import User
from tests.factories import Factory

pytestmark = [pytest.mark.browser, pytest.mark.full]
MAKE: dict[str, Callable[[Factory, User, str], Any]] = {
    "pixels": lambda factory, owner, name: factory.pixel(owner, name=name),
    "handlers": lambda factory, owner, name: factory.handler(owner, name=name),
    "projects": lambda factory, owner, name: factory.project(owner, name=name),
    "domains": lambda factory, owner, name: factory.domain(owner, f"{name}.example"),
}

WITH_UNDO = {"pixels", "handlers"}  # what else is deleted does not go to the trash


@pytest.fixture
def listed(desk: Page, alice: User, factory: Factory, site: str, width: int, place: str) -> Page:
    for name in ("fig", "pear", "apple"):
        MAKE[place](factory, alice, name)
    desk.set_viewport_size({"width": width, "height": 800})
    desk.goto(f"{site}/dashboard/{place}/")
    return desk


def delete(page: Page, name: str) -> None:
    page.get_by_role("link", name=f"Delete {name}").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#sheet h2")).to_be_focused()
    page.locator("#sheet .form-foot button[type=submit]").press("Enter")


@pytest.mark.parametrize(("width", "place"), [*zip(cycle([1280, 390]), MAKE, strict=False)])
def test_one_is_deleted_and_put_back(listed: Page, place: str, width: int) -> None:
    rows, toast = listed.locator("#rows > .row"), listed.locator("#toasts .toast")
    expect(rows).to_have_count(3)
    delete(listed, "pear")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="fig").locator(":focus")).to_have_count(1)
    if place not in WITH_UNDO:
        expect(toast).to_be_visible()
        return
    expect(toast.get_by_role("button", name="Undo")).to_have_attribute("aria-keyshortcuts", "Control+Z")
    listed.keyboard.press("Control+z")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="pear")).to_be_visible()
    expect(toast.get_by_role("button", name="Undo")).to_have_count(0)
