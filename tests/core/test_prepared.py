"""Prepared statements find the same rows as SQLAlchemy's own way, and raise the same errors."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
import sqlalchemy as sa
from sqlalchemy import Select, bindparam, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.api.related_rows import BESIDE_ONE
from app.core.database import begin_write, read_columns
from app.core.prepared import PreparedInsert, PreparedSelect, Query
from app.links.models import Alias, Link, LinkChange

pytestmark = pytest.mark.databases

ALIASES = cast("sa.Table", Alias.__table__)
CHANGES = cast("sa.Table", LinkChange.__table__)

MOMENT = dt.datetime(2026, 11, 28, 12, 30, 15, 250_000, tzinfo=dt.UTC)
OF_ONE = read_columns(Link).where(Link.id == bindparam("id"))
NO_TABLE: Select[Any] = select(sa.table("nowhere", sa.column("id")))
QUERIES: dict[str, Query] = {
    "moments, JSON, numbers and switches": OF_ONE,
    "names that two tables share": select(*Link.__table__.c, *User.__table__.c)
    .join_from(Link.__table__, User.__table__, Link.user_id == User.id)
    .where(Link.id == bindparam("id")),
    "several queries as one": BESIDE_ONE.select,
    "a value of the query's own": OF_ONE.where(Link.http_status_code == 307),
    "nothing is found": OF_ONE.where(Link.http_status_code == 301),
}


@pytest.fixture
def link(make_link: Callable[..., Link], alice: User) -> Link:
    return make_link(
        alice,
        url="here",
        is_enabled=False,
        http_status_code=307,
        end_date=MOMENT,
        targeting_type="country_code",
        targeting=[["DE", "https://example.com/de"]],
        tags=("one",),
    )


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_rows_are_as_ever(session: scoped_session[Session], link: Link, query: Query) -> None:
    values = {"id": link.id}
    expected = [tuple(row) for row in session.connection().execute(query, values)]
    prepared = PreparedSelect(query)
    for _ in range(2):  # compiled by the first
        assert [tuple(row) for row in prepared.all(session, values)] == expected
    first = prepared.first(session, values)
    assert (None if first is None else tuple(first)) == next(iter(expected), None)


def test_columns_have_their_names(session: scoped_session[Session], link: Link) -> None:
    row = PreparedSelect(OF_ONE).first(session, {"id": link.id})
    assert (row.url, row.is_enabled, row.end_date) == ("here", False, MOMENT)
    assert row.targeting == [["DE", "https://example.com/de"]]


@pytest.fixture
def heard(session: scoped_session[Session]) -> Iterator[list[sa.engine.ExceptionContext]]:
    """Errors of which the engine tells what counts them, and what notes damage."""
    found: list[sa.engine.ExceptionContext] = []
    engine, hear = session.get_bind(), found.append
    sa.event.listen(engine, "handle_error", hear)
    yield found
    sa.event.remove(engine, "handle_error", hear)


def test_errors_of_reads_are_as_ever(session: scoped_session[Session], heard: list[Any]) -> None:
    with pytest.raises(sa.exc.DBAPIError, match="nowhere"):
        PreparedSelect(NO_TABLE).all(session, {})
    assert len(heard) == 1
    session.rollback()


def test_what_the_transaction_has_written_is_found(session: scoped_session[Session], link: Link) -> None:
    session.execute(sa.update(Link).values(url="there"))
    prepared, values = PreparedSelect(OF_ONE), {"id": link.id}
    assert prepared.first(session, values).url == "there"
    session.rollback()
    assert prepared.first(session, values).url == "here"


def change_of(link: Link, **values: Any) -> dict[str, Any]:
    """A row with a moment and a value that is stored encrypted."""
    row = {"link_id": link.id, "workspace_id": link.workspace_id, "user_id": link.user_id, "kind": "changed"}
    return row | dict.fromkeys(("way", "who", "person"), "") | {"batch": None, "datetime": MOMENT} | values


@pytest.mark.parametrize("count", [1, 2], ids=["one row", "two rows"])
def test_rows_are_inserted(session: scoped_session[Session], link: Link, count: int) -> None:
    begin_write(session)
    insert = PreparedInsert(sa.insert(CHANGES).returning(CHANGES.c.id, sort_by_parameter_order=True))
    ids = insert.run(session, [change_of(link, fields={"url": [None, str(n)]}) for n in range(count)])
    session.commit()
    found = [session.get_one(LinkChange, id_) for id_ in ids]
    assert [row.fields for row in found] == [{"url": [None, str(n)]} for n in range(count)]
    assert {(row.datetime, row.batch, row.kind) for row in found} == {(MOMENT, None, "changed")}


def test_an_insert_that_returns_nothing(session: scoped_session[Session], link: Link) -> None:
    assert not PreparedInsert(sa.insert(CHANGES)).run(session, [change_of(link, fields={})])
    assert session.query(LinkChange).count() == 1


def test_a_row_that_is_there_is_refused_as_ever(
    session: scoped_session[Session], link: Link, heard: list[Any]
) -> None:
    row = {"domain_id": 0, "key": "here", "link_id": link.id, "workspace_id": link.workspace_id}
    begin_write(session)
    with pytest.raises(sa.exc.IntegrityError):
        PreparedInsert(sa.insert(ALIASES)).run(session, [row | {"held_until": None}])
    assert len(heard) == 1  # it was not tried twice
    session.rollback()
    assert session.query(Alias).count() == 1


def test_who_listens_to_statements_hears_of_them(session: scoped_session[Session], link: Link) -> None:
    """As traces do."""
    told: list[str] = []

    def hear(*arguments: Any) -> None:
        told.append(arguments[2].split(maxsplit=1)[0])

    engine, values, row = session.get_bind(), {"id": link.id}, change_of(link, fields={})
    begin_write(session)
    sa.event.listen(engine, "before_cursor_execute", hear)
    PreparedSelect(OF_ONE).first(session, values)
    PreparedInsert(sa.insert(CHANGES)).run(session, [row])
    sa.event.remove(engine, "before_cursor_execute", hear)
    assert told == ["SELECT", "INSERT"]
    assert PreparedSelect(OF_ONE).first(session, values).url == "here"
    assert len(told) == 2
