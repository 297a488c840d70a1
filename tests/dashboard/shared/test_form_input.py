"""Form input: how the dashboard's fields become the fields that the forms read.

Those that were not changed are left out: saving an untouched page changes nothing.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.dashboard.shared.form_input import complete, link_fields, touched
from app.input.data import RequestData, Upload
from app.links.forms import LinkForm
from app.links.models import Link
from tests.dashboard.conftest import Desk

# half past two comes twice that night in Berlin; this is the second one
TWICE = dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)
STORED = {"location_url": "https://example.com/", "url": "kept", "notes": "a\nb", "clicks_limit": 5}


@pytest.mark.parametrize(
    ("typed", "read"),
    {
        "bare host": ("example.com", "https://example.com"),
        "bare host with the rest": ("example.com/a?b#c", "https://example.com/a?b#c"),
        "port": ("example.com:8080/a", "https://example.com:8080/a"),
        "around": ("  https://example.com/ \n", "https://example.com/"),
        "other letters": ("bücher.example", "https://bücher.example"),
        "as it is": ("http://example.com", "http://example.com"),
        "script": ("javascript:alert(1)", "javascript:alert(1)"),
        "script with a dot": ("javascript:a.b", "javascript:a.b"),
        "mail": ("mailto:a@example.com", "mailto:a@example.com"),
        "login": ("me@example.com", "me@example.com"),
        "a word": ("example", "example"),
        "two words": ("two words.com", "two words.com"),
        "empty": ("", ""),
    }.values(),
)
def test_addresses(typed: str, read: str) -> None:
    assert complete(typed) == read


def test_lines_keep_their_numbers() -> None:
    sent = link_fields(RequestData([("location_urls", "a.example\r\n\r\n b.example")]))
    assert sent.last("location_urls") == "https://a.example\n\nhttps://b.example"


def test_a_ticked_removal_is_an_empty_picture() -> None:
    sent = link_fields(RequestData([("remove_cloaking_favicon", "1")]))
    assert sent.last("cloaking_favicon") == ""
    assert "remove_cloaking_favicon" not in sent


def test_a_new_picture_is_stronger_than_its_removal() -> None:
    picture = Upload("a.png", b"a")
    sent = link_fields(RequestData([("cloaking_favicon", picture), ("remove_cloaking_favicon", "1")]))
    assert sent.last("cloaking_favicon") == picture


def test_the_rest_goes_through_as_it_came() -> None:
    pairs = [("is_enabled", "0"), ("is_enabled", "1"), ("pixels_ids", ""), ("pixels_ids", "3")]
    sent = link_fields(
        RequestData([*pairs, ("targeting_rotation_key[]", "5"), ("targeting_rotation_key[]", "")])
    )
    assert sent.last("is_enabled") == "1"
    assert sent.members("pixels_ids") == [(1, "3")]
    assert sent.getlist("targeting_rotation_key") == ["5", ""]


TYPED = [
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
]


def test_changed_fields(alice: User, factory: Any) -> None:
    link = factory.link(alice, **STORED, title="a title", schedule=True, start_date=TWICE, password_hash="x")
    shown = LinkForm(None, owner=access_of(alice), stored=link)
    for name, value, is_touched in TYPED:
        assert (name in touched(RequestData([(name, value)]), shown)) is is_touched, (name, value)


def test_the_second_of_two_equal_hours_stays(
    desk: Desk, alice: User, factory: Any, session: scoped_session[Session]
) -> None:
    alice.timezone = "Europe/Berlin"
    link = factory.link(alice, schedule=True, start_date=TWICE)
    data = {"schedule": "1", "start_date": "2026-10-25T02:30", "title": "New"}
    assert desk.post(f"/links/{link.id}", data).status_code == 303
    session.expire_all()
    assert (session.get(Link, link.id).start_date, link.title) == (TWICE, "New")  # type: ignore[union-attr]
