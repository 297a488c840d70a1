"""History of a link in the dashboard: who made a change, and the return to an earlier version."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import update

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.database import begin_write
from app.core.extensions import db
from app.links import services
from app.links.history import history_of
from app.links.models import Link, LinkChange
from tests.clients import Api
from tests.dashboard.conftest import Desk

TO = "https://example.com/"


def change(link: Link, **changes: Any) -> None:
    begin_write(db.session)
    services.update(link, changes)
    db.session.commit()


def restore(desk: Desk, link: Link, place: int, **options: Any) -> Any:
    """Restore the version after a change; 0 is the newest one."""
    return desk.post(f"/links/{link.id}/history/{history_of(link)[place].id}", {}, **options)


def values(link: Link, *names: str) -> list[Any]:
    db.session.rollback()
    return [getattr(link, name) for name in names]


@pytest.fixture
def link(desk: Desk, alice: User) -> Link:
    begin_write(db.session)
    made = services.create(access_of(alice), {"location_url": TO, "url": "one", "title": "first"})
    db.session.commit()
    change(made, title="second")
    return made


def test_it_names_the_key_and_its_person(desk: Desk, api: Api, link: Link) -> None:
    api.post(f"/links/{link.id}", {"title": "by a key"})
    page = desk.get(f"/links/{link.id}/history").text
    assert "<bdi>test</bdi> (API key of <bdi>alice@example.com</bdi>)" in page


def test_a_key_of_which_no_person_was_noted(desk: Desk, link: Link, session: Any) -> None:
    """As changes were recorded before."""
    session.execute(update(LinkChange).values(way="api", who="old script", person=""))
    session.commit()
    assert "<bdi>old script</bdi> (API key)" in desk.get(f"/links/{link.id}/history").text


def test_restoring_can_be_undone(desk: Desk, link: Link) -> None:
    answer = restore(desk, link, 1, follow_redirects=True)
    assert "The earlier version of" in answer.text
    assert values(link, "title") == ["first"]
    undo = re.search(rf'action="/dashboard(/links/{link.id}/history/\d+)"', answer.text)
    assert undo
    desk.post(undo[1], {})
    assert values(link, "title") == ["second"]
    assert [one.kind for one in history_of(link)] == ["reverted", "reverted", "changed", "created"]


def test_what_is_so_already_has_nothing_to_undo(desk: Desk, link: Link) -> None:
    answer = restore(desk, link, 0, follow_redirects=True)
    assert f"/links/{link.id}/history/" not in answer.text
    assert len(history_of(link)) == 2


def test_an_entry_of_the_history_says_who_restored(desk: Desk, link: Link, alice: User) -> None:
    restore(desk, link, 1)
    newest = history_of(link)[0]
    assert (newest.kind, newest.who, newest.person) == ("reverted", alice.email, alice.email)
    assert newest.fields == {"title": ["second", "first"]}


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


def test_a_domain_that_is_turned_off(desk: Desk, link: Link, make_domain: Any, alice: User) -> None:
    domain = make_domain(alice, "go.elsewhere.example")
    change(link, domain_id=domain.id)
    change(link, domain_id=None)
    domain.is_enabled = False
    db.session.commit()
    answer = restore(desk, link, 1)
    assert answer.status_code == 422
    assert "Domain: This domain is not verified, or is turned off." in answer.text
    assert values(link, "domain_id") == [None]


def test_a_password_stays_as_it_is(desk: Desk, api: Api, link: Link) -> None:
    api.post(f"/links/{link.id}", {"password": "first"})
    hash_ = values(link, "password_hash")
    restore(desk, link, 1)
    assert values(link, "title", "password_hash") == ["second", *hash_]
