"""How far was each segment taken in, and who may go on from there?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple, cast

from sqlalchemy import Table, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.orm import Session

from app.clicks.models import Position

POSITIONS = cast("Table", Position.__table__)
Offset = Literal["counters_offset", "rows_offset"]
Insert = sqlite.Insert | postgresql.Insert


class Moved(Exception):
    """Somebody else took these lines in: this transaction must come to nothing."""


class Offsets(NamedTuple):
    counters: int = 0
    rows: int = 0


def read_positions(engine: Engine) -> dict[str, Offsets]:
    """Every source's offsets as committed. A segment that nobody began has none."""
    with engine.connect().execution_options(reads=True) as connection:
        return positions_in(connection)


def positions_in(bind: Connection | Session) -> dict[str, Offsets]:
    """The same through a connection or a session that is there already."""
    found = bind.execute(select(POSITIONS))
    return {row.name: Offsets(row.counters_offset, row.rows_offset) for row in found}


def move(connection: Connection, name: str, offset: Offset, start: int, end: int) -> None:
    """Compare-and-swap of one offset. Raises Moved if it is not at `start` any more."""
    here = POSITIONS.c.name == name, POSITIONS.c[offset] == start
    moved = update(POSITIONS).where(*here).values({offset: end}).returning(POSITIONS.c.name)
    if connection.execute(moved).first() is None:
        raise Moved(name)


def begin_at_zero(connection: Connection, directory: Path, name: str) -> None:
    """Give a segment its position. Raises Moved if it has, or had, one.

    A segment that another process took in and removed has no position either. But its file went before its
    position did; so once the new row is ours, a file that is still there was never begun by anybody.
    """
    row = {"name": name, "counters_offset": 0, "rows_offset": 0}
    begun = insert_into(connection, POSITIONS).values(row).on_conflict_do_nothing()
    is_ours = connection.execute(begun.returning(POSITIONS.c.name)).first() is not None
    if not is_ours or not (directory / name).exists():
        raise Moved(name)


def forget(engine: Engine, names: Iterable[str]) -> None:
    """Drop the positions of segments that this process removed. (Any other may be another machine's.)"""
    with engine.begin() as connection:
        connection.execute(delete(POSITIONS).where(POSITIONS.c.name.in_(list(names))))


def insert_into(connection: Connection, table: Table) -> Insert:
    """An INSERT that knows ON CONFLICT, in the words of this database."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
