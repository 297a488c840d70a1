"""The migration that gives each user a workspace, of a database with 100,000 links and what belongs to them.

Every row goes to the workspace of the user who had it, none is lost, and clicks stay where they are.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.core.database import CLICKS
from app.links.models import Alias, Link
from tests.analytics.load import load
from tests.migrations import alembic_config
from tests.past import take_in

BEFORE = "3f8a6d20c4e9-1"
MOMENT = dt.datetime(2026, 11, 1, 12)
USERS, LINKS_EACH, CLICKS_EACH = 20, 5_000, 1_000
GAP = 3  # users of whom every third id is missing, as after deletions
BATCH_SIZE = 5_000
OTHERS = {sa.Boolean: False, sa.DateTime: MOMENT, sa.Numeric: 0, sa.Integer: 0, sa.JSON: []}
# tables that had `user_id`, have a workspace now, and are filled below
OWNED = ("link", "project", "pixel", "notification_handler", "domain", "api_key", "saved_view", "link_change", "trashed")  # fmt: skip
# what the migrations make, or fill themselves
MADE = {"workspace", "workspace_member", "workspace_invitation", "alembic_version", "audit_entry"}

log = logging.getLogger(__name__)


@pytest.mark.full
@pytest.mark.databases
def test_a_large_database(session: scoped_session[Session], settings: Settings) -> None:
    session.close()
    command.downgrade(alembic_config(), BEFORE)
    tables = reflect(session)
    users = [GAP * number + 1 for number in range(USERS)]
    fill(session, tables, users)
    links = {user_id: links_of(number) for number, user_id in enumerate(users)}
    begin = dt.datetime.now(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0) - dt.timedelta(days=20)
    take_in(settings, load(USERS * CLICKS_EACH, begin, 15, links, Random(18)))
    before, clicks = count_rows(session, tables), clicks_of(session)
    assert before["link"] == USERS * LINKS_EACH
    session.close()
    began = time.monotonic()
    command.upgrade(alembic_config(), "head")
    log.warning("100,000 links: %.1f s on %s", time.monotonic() - began, session.get_bind().dialect.name)
    after = count_rows(session, reflect(session))
    assert {name: after[name] for name in before} == before
    assert (after["workspace"], after["workspace_member"]) == (USERS, USERS)
    for name in OWNED:
        wrong = sa.text(f"SELECT count(*) FROM {name} WHERE workspace_id <> user_id OR workspace_id IS NULL")
        assert (name, session.scalar(wrong)) == (name, 0)
    for name in ("alias", "link_block"):
        found = session.execute(sa.text(f"SELECT DISTINCT workspace_id FROM {name}")).scalars()
        assert sorted(found) == users
    sizes = sa.text("SELECT workspace_id, sum(size) FROM link_block GROUP BY workspace_id")
    assert dict(session.execute(sizes).all()) == dict.fromkeys(users, LINKS_EACH)
    of_link = sa.select(Alias.link_id).join(Link, Link.id == Alias.link_id)
    assert session.scalars(of_link.where(Link.workspace_id != Alias.workspace_id)).all() == []
    assert clicks_of(session) == clicks
    for user_id in users:
        access = access_of(session.get_one(User, user_id))
        assert (access.workspace_id, access.role) == (user_id, "owner")


def reflect(session: scoped_session[Session]) -> Mapping[str, sa.Table]:
    """The tables as the database has them, by name; those of clicks with their schema."""
    metadata = sa.MetaData()
    for schema in (None, CLICKS):
        metadata.reflect(session.connection(), schema=schema)
    session.rollback()
    return metadata.tables


def count_rows(session: scoped_session[Session], tables: Mapping[str, sa.Table]) -> dict[str, int]:
    wanted = {name: sa.select(sa.func.count()).select_from(table) for name, table in tables.items()}
    found = {name: session.scalar(query) or 0 for name, query in wanted.items() if name not in MADE}
    session.rollback()
    return (
        found | {name: session.scalar(wanted[name]) or 0 for name in MADE & wanted.keys()}
        if "workspace" in tables
        else found
    )


def clicks_of(session: scoped_session[Session]) -> list[Sequence[Any]]:
    """How many clicks each workspace has, and which, as one number."""
    query = sa.text(
        "SELECT user_id, count(*), sum(time_ms), sum(link_id) FROM clicks.click GROUP BY 1 ORDER BY 1"
    )
    found = [tuple(row) for row in session.execute(query)]
    session.rollback()
    return found


def links_of(number: int) -> list[int]:
    """The ids of a user's links: users make them in turn."""
    return [1 + number + USERS * index for index in range(LINKS_EACH)]


def fill(session: scoped_session[Session], tables: Mapping[str, sa.Table], users: list[int]) -> None:
    insert(
        session,
        tables["user"],
        ({"id": id_, "email": f"u{id_}@example.com", "name": f"U{id_}"} for id_ in users),
    )
    for name in ("project", "pixel", "notification_handler", "domain", "api_key", "saved_view"):
        insert(session, tables[name], belongings(tables[name], users))
    mine = [(link_id, user_id) for number, user_id in enumerate(users) for link_id in links_of(number)]
    mine.sort()
    insert(session, tables["link"], ({"id": id_, "user_id": user_id, "url": f"l{id_}", "location_url": f"https://example.com/{id_}", "search_text": f"l{id_}", "http_status_code": 302} for id_, user_id in mine))  # fmt: skip
    insert(session, tables["alias"], ({"key": f"l{id_}", "domain_id": 0, "link_id": id_, "user_id": user_id} for id_, user_id in mine))  # fmt: skip
    insert(
        session,
        tables["link_tag"],
        ({"link_id": id_, "position": 0, "tag": f"t{id_ % 50}"} for id_, _ in mine),
    )
    insert(session, tables["link_change"], ({"link_id": id_, "user_id": user_id, "kind": "changed"} for id_, user_id in mine))  # fmt: skip
    insert(session, tables["trashed"], ({"row_id": 10**6 + id_, "user_id": user_id, "kind": "link", "rows": "{}"} for id_, user_id in mine[::20]))  # fmt: skip
    session.commit()


def belongings(table: sa.Table, users: list[int]) -> Iterator[dict[str, Any]]:
    """Ten rows of this table for each user, with other values in each column that must have one of its own."""
    for number, user_id in enumerate(id_ for id_ in users for _ in range(10)):
        own = {
            name: f"{name}-{number}" for name in ("host", "digest", "key", "token", "name") if name in table.c
        }
        yield {"id": number + 1, "user_id": user_id, **own}


def insert(session: scoped_session[Session], table: sa.Table, rows: Iterator[dict[str, Any]]) -> None:
    """Insert the rows, with a value of its type in each column that needs one and is not named."""
    found = list(rows)
    needed = [
        column
        for column in table.c
        if not (
            column.nullable
            or column.name in found[0]
            or column.server_default
            or column is table.autoincrement_column
        )
    ]
    values = {column.name: filler(column) for column in needed}
    for first in range(0, len(found), BATCH_SIZE):
        session.execute(table.insert(), [values | row for row in found[first : first + BATCH_SIZE]])
    if session.get_bind().dialect.name == "postgresql" and "id" in found[0]:
        newest = (
            f"SELECT setval(pg_get_serial_sequence('\"{table.name}\"', 'id'), max(id)) FROM \"{table.name}\""
        )
        session.execute(sa.text(newest))


def filler(column: sa.Column[Any]) -> object:
    return next((value for type_, value in OTHERS.items() if isinstance(column.type, type_)), "")
