"""History of a link in the dashboard: who made a change, and the return to an earlier version."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import update

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.links import services
from app.links.history import history_of
from app.links.models import Link
from tests.dashboard.conftest import Desk
from tests.writes import write

TO = "https://example.com/"


def change(link: Link, **changes: Any) -> None:
    write(services.update, link, changes)


def restore(desk: Desk, link: Link, place: int, **options: Any) -> Any:
    """Restore the version after a change; 0 is the newest one."""
    return desk.post(f"/links/{link.id}/history/{history_of(link)[place].id}", {}, **options)


def values(link: Link, *names: str) -> list[Any]:
    db.session.rollback()
    return [getattr(link, name) for name in names]


@pytest.fixture
def link(desk: Desk, alice: User) -> Link:
    made = write(services.create, access_of(alice), {"location_url": TO, "url": "one", "title": "first"})
    change(made, title="second")
    return made


def test_restoring_can_be_undone(desk: Desk, link: Link) -> None:
    answer = restore(desk, link, 1, follow_redirects=True)
    assert "The earlier version of" in answer.text
    assert values(link, "title") == ["first"]
    undo = re.search(rf'action="/dashboard(/links/{link.id}/history/\d+)"', answer.text)
    assert undo
    desk.post(undo[1], {})
    assert values(link, "title") == ["second"]
    assert [one.kind for one in history_of(link)] == ["reverted", "reverted", "changed", "created"]


def make_reserved(link: Link) -> None:
    db.session.execute(update(Link).values(url="api"))


def refuse_destination(link: Link) -> None:
    db.session.execute(update(Link).values(location_url="ftp://example.com/"))


def misuse_targeting(link: Link) -> None:
    change(link, targeting_type="country_code", targeting=[["XX", TO]])


WRONG = {
    # what the older version has that is refused by now, and what is said
    "an alias that is reserved": (make_reserved, {"url": "two"}, "Short link: "),
    "a destination of a scheme that is off": (refuse_destination, {"location_url": TO}, "Destination: "),
    "a key that no country has": (
        misuse_targeting,
        {"targeting_type": None, "targeting": []},
        "Destinations by visitor: There is no such country.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_longer_valid_is_said(desk: Desk, link: Link, name: str) -> None:
    spoil, since, text = WRONG[name]
    spoil(link)
    db.session.commit()
    change(link, **since)
    before, changes = values(link, *since), len(history_of(link))
    answer = restore(desk, link, 1)
    assert answer.status_code == 422
    assert text in answer.text
    assert (values(link, *since), len(history_of(link))) == (before, changes)
