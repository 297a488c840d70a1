"""State of the removal of interned texts: its lock, and two counts that all processes share.

An ingest holds the lock shared from before it looks up ids until its rows are committed; a removal holds it
alone. So no id is removed between the moment an ingest has read it and the commit of the row that names it.
(docs/decisions/2026-11-22-interned-texts.md)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from sqlalchemy import Engine, Table, select
from sqlalchemy.engine import Connection

from app.analytics.models import Position
from app.analytics.offsets import insert_into

POSITIONS = cast("Table", Position.__table__)
LOCK = 0x57_41_5A  # the lock's number in PostgreSQL
# names of rows among the offsets that no segment has. In the first, `counters_offset` is the count up to
# which unused texts have been removed
REMOVED_ROWS = "removed rows"
REMOVED_TEXTS = "removed texts"


def lock_shared(connection: Connection) -> None:
    """Keeps ids of texts valid until this transaction ends. (SQLite has one writer anyway.)"""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock_shared(%s)", (LOCK,))


@contextmanager
def lock_alone(engine: Engine) -> Iterator[Connection]:
    """A transaction that holds the lock alone: no ingest is between looking up ids and its commit."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            yield connection
            return
        connection.exec_driver_sql("PRAGMA secure_delete = ON")  # or a text stays in the file's free space
        try:
            yield connection
        finally:
            connection.exec_driver_sql("PRAGMA secure_delete = OFF")


def count_removal(connection: Connection, name: str) -> None:
    """Adds one to a count: this transaction removes texts, or rows that name texts."""
    first = {"name": name, "counters_offset": 0, "rows_offset": 1}
    more = {"rows_offset": POSITIONS.c.rows_offset + 1}
    added = insert_into(connection, POSITIONS).values(first)
    connection.execute(added.on_conflict_do_update(index_elements=["name"], set_=more))


def read_count(connection: Connection, name: str) -> int:
    return connection.scalar(select(POSITIONS.c.rows_offset).where(POSITIONS.c.name == name)) or 0


def due_count(connection: Connection) -> int | None:
    """The count of removed rows, if texts may be unused since; None if none can be."""
    found: Any = connection.execute(select(POSITIONS).where(POSITIONS.c.name == REMOVED_ROWS)).first()
    if found is None:
        return 0  # unused texts were never looked for
    return int(found.rows_offset) if found.rows_offset > found.counters_offset else None


def note_done(connection: Connection, count: int) -> None:
    """Stores that unused texts have been removed as of this count of removed rows."""
    row = {"name": REMOVED_ROWS, "counters_offset": count, "rows_offset": count}
    noted = insert_into(connection, POSITIONS).values(row)
    connection.execute(noted.on_conflict_do_update(index_elements=["name"], set_={"counters_offset": count}))
