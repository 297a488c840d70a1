"""Two tabs on one row: what both change is asked about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import Link

pytestmark = pytest.mark.browser
OLD, MINE, THEIRS = (f"https://example.com/{name}" for name in ("old", "mine", "theirs"))


@pytest.fixture
def link_id(alice: User, make_link: Callable[..., Link]) -> int:
    return int(make_link(alice, "old", location_url=OLD, title="Old title", tags=("red",)).id)


def stored(session: scoped_session[Session]) -> Link:
    session.rollback()
    return session.scalars(select(Link)).one()


def open_edit(page: Page) -> Any:
    page.get_by_role("link", name="Edit 127").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Destination", exact=True)).to_have_value(OLD)
    return dialog


def save_elsewhere(page: Page, link_id: int, **typed: str) -> None:
    """Change the link on a page of its own in a second tab."""
    tab = page.context.new_page()
    tab.goto(f"{page.url.partition('/links')[0]}/links/{link_id}")
    tab.locator("details[data-fold=labels] summary").click()
    for name, text in typed.items():
        tab.locator(f"[name={name}]:visible").fill(text)
    tab.get_by_role("button", name="Save link").click()
    tab.wait_for_url("**/dashboard/links/")
    tab.close()


@pytest.mark.parametrize(("choice", "kept"), [("Yours", MINE), ("The other", THEIRS)])
def test_what_both_changed_is_asked(
    desk: Page, session: scoped_session[Session], link_id: int, choice: str, kept: str
) -> None:
    desk.reload()
    dialog = open_edit(desk)
    save_elsewhere(desk, link_id, location_url=THEIRS)
    dialog.get_by_label("Destination", exact=True).fill(MINE)
    dialog.get_by_role("button", name="Save link").click()
    question = dialog.get_by_role("group", name="Destination", exact=True)
    expect(question.get_by_label("Yours: " + MINE)).to_be_focused()
    expect(question.get_by_label("The other: " + THEIRS)).to_be_visible()
    assert stored(session).location_url == THEIRS, "nothing is saved yet"
    desk.keyboard.press("Space" if choice == "Yours" else "ArrowDown")
    dialog.get_by_role("button", name="Save link").click()
    expect(dialog).to_be_hidden()
    assert stored(session).location_url == kept
