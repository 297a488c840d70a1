"""Which fields of a form were changed: saving an untouched page changes nothing."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.dashboard.shared.changed_fields import touched
from app.input.data import RequestData
from app.links.forms import LinkForm
from app.links.models import Link
from tests.dashboard.conftest import Desk

# half past two comes twice that night in Berlin; this is the second one
TWICE = dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)
STORED = {"location_url": "https://example.com/", "url": "kept", "notes": "a\nb", "clicks_limit": 5}


@pytest.mark.parametrize(
    ("name", "value", "is_touched"),
    [
        ("location_url", "https://example.com/", False),
        ("location_url", "https://example.com", True),
        ("location_url", "", True),
        ("notes", "a\r\nb", False),
        ("notes", "a\r\nb\r\n", True),
        ("clicks_limit", "5", False),
        ("clicks_limit", "", True),
        ("title", "a title", False),
        ("title", "aTtitle", True),
        ("title", "", True),
        ("utm_source", "", False),
        ("utm_source", "x", True),
        ("start_date", "2026-10-25T01:30", False),
        ("start_date", "2026-10-25T01:30:00", False),
        ("start_date", "2026-10-25T01:31", True),
        ("password", "********", False),
        ("password", "", True),
        ("password", "new", True),
        ("tags", "", True),
        ("pixels_ids", "", True),
    ],
)
def test_fields(alice: User, factory: Any, name: str, value: str, is_touched: bool) -> None:
    link = factory.link(alice, **STORED, title="a title", schedule=True, start_date=TWICE, password_hash="x")
    shown = LinkForm(None, owner=alice, stored=link)
    assert (name in touched(RequestData([(name, value)]), shown)) is is_touched


def test_the_second_of_two_equal_hours_stays(
    desk: Desk, alice: User, factory: Any, session: scoped_session[Session]
) -> None:
    alice.timezone = "Europe/Berlin"
    link = factory.link(alice, schedule=True, start_date=TWICE)
    data = {"schedule": "1", "start_date": "2026-10-25T02:30", "title": "New"}
    assert desk.post(f"/links/{link.id}", data).status_code == 303
    session.expire_all()
    assert (session.get(Link, link.id).start_date, link.title) == (TWICE, "New")  # type: ignore[union-attr]
