"""Pages of lists: after "Next" the focus is at the start of the list."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.audit import queries
from app.audit.services import Object, record
from app.dashboard.admin import users
from app.notifications.outbox import deliver
from app.trash.models import Trashed

pytestmark = [pytest.mark.browser, pytest.mark.full]
NEXT, BACK = re.compile("^(Next|Older)$"), re.compile("^(Previous|Newest)$")


@pytest.fixture
def lists(
    alice: User, factory: Any, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Lists of more than one page: address, and the name of the list."""
    monkeypatch.setattr(users, "PAGE_SIZE", 2)
    monkeypatch.setattr(queries, "PAGE_SIZE", 2)
    handler = factory.handler(alice)
    for number in range(30):
        factory.link(alice, f"link{number}")
        factory.pixel(alice)
        factory.project(alice, name=f"Project {number}")
        session.add(
            Trashed(
                **access_of(alice).row_columns,
                kind="pixel",
                row_id=number,
                batch="b",
                name=f"Gone {number}",
                rows={},
            )
        )
        deliver(session, handler.id, "handler.test", {"number": number})
    for number in range(3):
        factory.user(f"user{number}@example.com")
        record(
            session, "project.deleted", owner_id=alice.id, on=Object("project", number, f"Project {number}")
        )
    alice.is_admin = True
    session.commit()
    return {
        "links/?search=link&tag=": "Links",
        "pixels/": "Pixels",
        "projects/": "Projects",
        "trash/": "Trash",
        "users/": "Users",
        "account/audit-log": "Entries",
        f"handlers/{handler.id}/deliveries": "Deliveries",
    }


@pytest.mark.parametrize("width", [1280, 390])
def test_the_focus_is_at_the_start_of_the_next_page(
    desk: Page, lists: dict[str, str], site: str, width: int
) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    for address, name in lists.items():
        desk.goto(f"{site}/dashboard/{address}")
        rows = desk.get_by_role("list", name=name, exact=True)
        desk.get_by_role("navigation", name="Pages").get_by_role("link", name=NEXT).focus()
        desk.keyboard.press("Enter")
        expect(desk).to_have_url(re.compile("#rows$"))
        expect(rows).to_be_focused()
        expect(rows).to_be_in_viewport()
        desk.keyboard.press("Tab")
        assert desk.evaluate(
            "document.activeElement.closest('#rows > li') === document.querySelector('#rows > li')"
        )
        desk.get_by_role("navigation", name="Pages").get_by_role("link", name=BACK).click()
        expect(rows).to_be_focused()
