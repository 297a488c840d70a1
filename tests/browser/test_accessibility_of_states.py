"""Accessibility of what opens over the pages and of what goes wrong: axe, both themes, a phone's width.

Plain pages are in `test_accessibility`. Other states are looked at where they are tested: bulk edit, filters,
palette, saved views, imports, a session that is over, suggestions, shared statistics, two-factor and the
pages of visitors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Page, expect

from app.accounts.models import User
from app.links.models import Link
from tests.browser.test_accessibility import opened, seen
from tests.browser.test_concurrent_edits import save_elsewhere
from tests.factories import Factory

pytestmark = [pytest.mark.browser, pytest.mark.full]
TYPED = "https://example.com/typed"


@pytest.fixture
def link(alice: User, factory: Factory) -> Link:
    """A link of a project, with clicks and a warning of what breaks when its alias changes."""
    project = factory.project(alice, name="Spring")
    factory.domain(alice, "go.example")
    return factory.link(
        alice, "old", location_url="https://example.com/", tags=("red",), project_id=project.id
    )


def open_dialog(page: Page, path: str, name: str) -> None:
    """Open a dialog by its link on the page of the path."""
    if path not in page.url:
        page.goto(f"{page.url.partition('/dashboard')[0]}/dashboard/{path}")
    page.get_by_role("link", name=name).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()


def edited(page: Page, link: Link) -> None:
    open_dialog(page, "links/", "Edit 127")
    opened(page)


def asked_whether_to_leave(page: Page, link: Link) -> None:
    open_dialog(page, "links/", "Edit 127")
    page.get_by_role("dialog").get_by_label("Destination", exact=True).fill(TYPED)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Discard what you have typed?")).to_be_visible()


def saved_twice(page: Page, link: Link) -> None:
    open_dialog(page, "links/", "Edit 127")
    save_elsewhere(page, link.id, location_url="https://example.com/theirs")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Destination", exact=True).fill(TYPED)
    dialog.get_by_role("button", name="Save link").click()
    expect(dialog.get_by_label("Yours: ")).to_be_focused()


def wrong(page: Page, link: Link) -> None:
    open_dialog(page, "links/", "Edit 127")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Destination", exact=True).fill("ftp://example.com")
    dialog.get_by_role("button", name="Save link").click()
    expect(dialog.locator("[aria-invalid=true]")).to_be_focused()
    opened(page)


def shown_as_qr_code(page: Page, link: Link) -> None:
    page.locator("[data-menu]").first.click()
    page.locator("#row-menu").get_by_role("link", name="QR code").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def erased(page: Page, link: Link) -> None:
    page.locator("#rows a.name").first.focus()
    page.keyboard.press("Delete")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    open_dialog(page, "trash/", "for good")


def shown_after(path: str, name: str, fields: dict[str, str], button: str) -> Callable[[Page, Link], None]:
    """What a dialog shows once its form is sent."""

    def open_it(page: Page, link: Link) -> None:
        open_dialog(page, path, name)
        dialog = page.get_by_role("dialog")
        for label, text in fields.items():
            dialog.get_by_label(label).first.fill(text)
        dialog.get_by_role("button", name=button).click()
        expect(dialog.get_by_role("button", name=button)).to_have_count(0)

    return open_it


def opened_at(path: str, name: str) -> Callable[[Page, Link], None]:
    return lambda page, link: open_dialog(page, path, name)


STATES: dict[str, Callable[[Page, Link], None]] = {
    "a link with every fold open": edited,
    "the question before what is typed is lost": asked_whether_to_leave,
    "two saves of one field": saved_twice,
    "a field that is wrong": wrong,
    "the QR code": shown_as_qr_code,
    "a link of the trash, to erase": erased,
    "a new key, shown once": shown_after("keys/", "Create API key", {"Name": "Key"}, "Create API key"),
    "a new invitation": shown_after(
        "users/", "Invite a user", {"E-mail": "eve@example.com"}, "Create the invitation"
    ),
    "a project that is deleted": opened_at("projects/", "Delete Spring"),
    "a domain that is in use": opened_at("domains/", "Delete go.example"),
    "a project that is edited": opened_at("projects/", "Edit Spring"),
    "a user that is disabled": opened_at("users/", "Disable bob@example.com"),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_of_a_page(state: str, desk: Page, bob: User, link: Link) -> None:
    desk.reload()
    STATES[state](desk, link)
    assert seen(desk) == {}


def test_pages_of_errors(
    desk: Page, site: str, app: Flask, monkeypatch: pytest.MonkeyPatch, watch: Any
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of the test's")

    desk.goto(f"{site}/dashboard/nothing")
    found = {"unknown": seen(desk)}
    app.testing = False
    monkeypatch.setitem(app.view_functions, "dashboard.projects", fail)
    desk.goto(f"{site}/dashboard/projects/")
    found["a fault"] = seen(desk)
    app.testing = True
    watch.complaints[:] = [
        text for text in watch.complaints if "status of 500" not in text and "status of 404" not in text
    ]
    assert {name: what for name, what in found.items() if what} == {}
