"""Links that are inserted past the ORM are the same rows and objects as those that it inserts."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from sqlalchemy import inspect, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.links.insertion import insert_links
from app.links.models import Link

NOW = dt.datetime(2026, 11, 26, 3, tzinfo=dt.UTC)
GIVEN: dict[str, dict[str, Any]] = {
    "a destination alone": {},
    "values that are searched": {"title": "Straße", "notes": "Ä line\nand another"},
    "values that are not the defaults": {
        "is_enabled": False,
        "schedule": True,
        "start_date": NOW,
        "start_due": NOW,
        "clicks_limit": 5,
        "clicks_limit_confirmation_is_enabled": True,
        "http_status_code": 308,
        "targeting_type": "country_code",
        "targeting": [["DE", "https://example.com/de"]],
        "last_datetime": NOW,
        "password_version": 1,
    },
    "nothing where there is a default": dict.fromkeys(
        ["type", "is_enabled", "http_status_code", "datetime", "password_version"]
    ),
}


def row_of(session: scoped_session[Session], id_: int) -> dict[str, Any]:
    table = Link.__table__
    return dict(session.execute(select(*table.c).where(table.c.id == id_)).one()._mapping)


@pytest.mark.databases
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_the_rows_are_those_of_the_orm(
    given: dict[str, Any], alice: User, session: scoped_session[Session]
) -> None:
    columns = {**access_of(alice).row_columns, "url": "Äbc", "location_url": "https://example.com/", **given}
    one, other = Link(**columns), Link(**columns)
    session.add(one)
    session.flush()
    insert_links([other])
    first, second = row_of(session, one.id), row_of(session, other.id)
    assert {**second, "id": first["id"], "datetime": first["datetime"]} == first
    assert abs(second["datetime"] - first["datetime"]) < dt.timedelta(minutes=5)


@pytest.mark.databases
def test_the_objects_are_stored_rows(alice: User, session: scoped_session[Session]) -> None:
    columns = {**access_of(alice).row_columns, "location_url": "https://example.com/"}
    links = [Link(**columns, url=f"a{number}", title=title) for number, title in enumerate(["T", None, "U"])]
    insert_links(links)
    assert [session.get(Link, link.id) is link for link in links] == [True] * 3
    assert not any(inspect(link).modified for link in links)
    assert [row_of(session, link.id)["url"] for link in links] == ["a0", "a1", "a2"]
    assert [(link.is_enabled, link.pixels, link.tag_rows) for link in links] == [(True, [], [])] * 3
    links[1].title = "Other"
    session.commit()
    assert [row_of(session, link.id)["title"] for link in links] == ["T", "Other", "U"]
    assert "other" in row_of(session, links[1].id)["search_text"]


@pytest.mark.databases
def test_an_id_that_was_rolled_back_is_used_again(alice: User, session: scoped_session[Session]) -> None:
    columns = {**access_of(alice).row_columns, "url": "abc", "location_url": "https://example.com/"}
    session.commit()
    gone, new = Link(**columns), Link(**{**columns, "url": "def"})
    insert_links([gone])
    used = gone.id
    session.rollback()
    insert_links([new])
    session.commit()
    is_same = new.id == used  # PostgreSQL gives it to nobody else
    assert is_same == (session.get_bind().dialect.name == "sqlite")
    assert session.get(Link, new.id) is new
    assert (new.url, gone in session) == ("def", not is_same)
