"""Intents: what is about to be inserted into ClickHouse, noted before it is.

No transaction spans SQL and ClickHouse. So the end of a batch is committed first, then the batch is inserted
with a token made of its source and its ends, and then the position moves. Whatever is killed in between is
done again with the same rows and the same token, which inserts nothing that is there.
(docs/decisions/2026-11-25-clickhouse.md)

An intent is a row among the offsets that no segment has: `insert <source> <UTC day on which it was noted>`.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from sqlalchemy import Table, delete, insert, select
from sqlalchemy.engine import Connection

from app.analytics.models import Position

POSITIONS = cast("Table", Position.__table__)
PREFIX = "insert "


class Intent(NamedTuple):
    """A batch of a source between two offsets. `day`: the UTC day on which it was noted."""

    source: str
    day: int
    start: int
    end: int

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.source} {self.day}"

    @property
    def token(self) -> str:
        return f"{self.source}:{self.start}-{self.end}"


def list_intents(connection: Connection) -> list[Intent]:
    found = connection.execute(select(POSITIONS).where(POSITIONS.c.name.startswith(PREFIX, autoescape=True)))
    return [read_intent(row.name, row.counters_offset, row.rows_offset) for row in found]


def read_intent(name: str, start: int, end: int) -> Intent:
    source, _, day = name.removeprefix(PREFIX).rpartition(" ")
    return Intent(source, int(day), start, end)


def find_intent(connection: Connection, source: str) -> Intent | None:
    return next((each for each in list_intents(connection) if each.source == source), None)


def note_intent(connection: Connection, intent: Intent) -> None:
    row = {"name": intent.name, "counters_offset": intent.start, "rows_offset": intent.end}
    connection.execute(insert(POSITIONS), [row])


def remove_intent(connection: Connection, intent: Intent) -> bool:
    """Removes it; returns whether it was still there: another machine may have been first."""
    return connection.execute(delete(POSITIONS).where(POSITIONS.c.name == intent.name)).rowcount == 1
