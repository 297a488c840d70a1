"""Removal of interned texts that no row uses any more, in short steps beside the ingest.

Mark and sweep: ids that clicks and roll-ups name are marked in memory, page by page, without a lock. Then all
others are removed, one batch in each transaction. That transaction excludes any ingest and marks clicks that
came since. It rolls back if rows were removed since: these may have moved to roll-ups read before that.
A process that is interrupted starts over; what it has removed stays removed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from typing import Any, cast

from sqlalchemy import ColumnElement, Engine, Table, delete, func, select, tuple_, update
from sqlalchemy.engine import Connection

from app.analytics import interning_state
from app.analytics.interning import TABLE as TERMS
from app.analytics.interning import digest_text
from app.analytics.rollup_models import LinkValue, OwnerValue
from app.analytics.rows import AGENTS, CLICKS, TEXTS
from app.core.database import is_outage
from app.core.error_boundary import ErrorBoundary

PAGE = 5000  # rows read in a step
BATCH_SIZE = 1000  # texts removed in a transaction
COLUMNS = [CLICKS.c[f"{name}_id"] for name in TEXTS]
DESCRIPTION = [column for column in AGENTS.c if column.name != "id"]
VALUES = tuple(cast("Table", model.__table__) for model in (LinkValue, OwnerValue))
NO_TEXT = ""

Steps = Generator[None, None, None]


class Outdated(Exception):
    """Rows were removed since the marking began: it may have missed the roll-ups that took them."""


def is_no_texts_fault(error: Exception) -> bool:
    return isinstance(error, Outdated) or is_outage(error)


errors = ErrorBoundary("texts of clicks", is_passed=is_no_texts_fault)


class IdSet:
    """A set of ids, one bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def __contains__(self, id_: int) -> bool:
        return id_ >> 3 < len(self._bits) and bool(self._bits[id_ >> 3] & 1 << (id_ & 7))

    def add(self, ids: Iterable[int | None]) -> list[int]:
        """Adds ids; returns those that are new. None and 0 name no text."""
        new = [id_ for id_ in ids if id_ and id_ not in self]
        self._bits.extend(bytes(max(0, (max(new, default=0) >> 3) + 1 - len(self._bits))))
        for id_ in new:
            self._bits[id_ >> 3] |= 1 << (id_ & 7)
        return new


class Marks:
    """The texts and descriptions of user agents in use, as far as rows have been read."""

    def __init__(self, connection: Connection) -> None:
        """Starts the marks. The caller holds the lock that excludes any ingest."""
        self.terms, self.agents = IdSet(), IdSet()
        self.last = last_id(connection, TERMS)  # a later text is in use, or left for the next run
        self.removed_rows = interning_state.read_count(connection, interning_state.REMOVED_ROWS)
        self.clicks = (connection.scalar(select(func.min(CLICKS.c.id))) or 1) - 1  # read up to this id

    def used(self, table: Table) -> IdSet:
        return self.agents if table is AGENTS else self.terms

    def read_clicks(self, connection: Connection, last: int) -> bool:
        """Marks what the next page of clicks names, up to the id `last`; returns whether more may follow."""
        first, self.clicks = self.clicks, min(self.clicks + PAGE, last)
        within = CLICKS.c.id > first, CLICKS.c.id <= self.clicks
        rows = connection.execute(select(*COLUMNS).where(*within)).all()
        self.terms.add(set().union(*rows))
        agents = self.agents.add({row.agent_id for row in rows})
        described = connection.execute(select(*DESCRIPTION).where(AGENTS.c.id.in_(agents))).all()
        self.terms.add(set().union(*described))
        return self.clicks < last

    def check(self, connection: Connection) -> None:
        """Raises Outdated if rows were removed since these marks were begun."""
        if interning_state.read_count(connection, interning_state.REMOVED_ROWS) != self.removed_rows:
            raise Outdated


def remove_unused(engine: Engine) -> Steps:
    """Removes texts that no row uses, and descriptions of user agents that no click has."""
    with interning_state.lock_alone(engine) as connection:
        marks = Marks(connection)
    yield
    yield from mark_clicks(engine, marks)
    for table in VALUES:
        yield from mark_values(engine, marks, table)
    failed: list[tuple[int, Exception]] = []
    try:
        for table in (AGENTS, TERMS):
            failed += yield from remove_from(engine, marks, table)
        if not failed:
            with interning_state.lock_alone(engine) as connection:
                marks.check(connection)
                interning_state.note_done(connection, marks.removed_rows)
    except Outdated:
        return  # still due
    if failed:
        raise failed[0][1]  # still due; the caller waits before it is tried again


def mark_clicks(engine: Engine, marks: Marks) -> Steps:
    """Marks what all clicks name that exist by now."""
    with interning_state.lock_alone(engine) as connection:  # so that no smaller id is committed later
        last = last_id(connection, CLICKS)
    is_more = marks.clicks < last
    while is_more:
        with open_reading(engine) as connection:
            is_more = marks.read_clicks(connection, last)
        if is_more:
            yield


def mark_values(engine: Engine, marks: Marks, table: Table) -> Steps:
    """Marks what the roll-ups of this table name."""
    key: list[ColumnElement[Any]] = [*table.primary_key]
    wanted = select(*key).order_by(*key).limit(PAGE)
    after: tuple[ColumnElement[bool], ...] = ()
    while True:
        with open_reading(engine) as connection:
            found = connection.execute(wanted.where(*after)).all()
        marks.terms.add({id_ for row in found for id_ in (row.value_id, row.path_id)})
        yield
        if len(found) < PAGE:
            return
        after = (tuple_(*key) > tuple(found[-1]),)


def remove_from(
    engine: Engine, marks: Marks, table: Table
) -> Generator[None, None, list[tuple[int, Exception]]]:
    """Removes the rows of a table that are not marked; returns those that could not be removed."""
    used, last = marks.used(table), 0
    failed: list[tuple[int, Exception]] = []
    within = select(table.c.id).where(table.c.id <= marks.last).order_by(table.c.id).limit(BATCH_SIZE)
    while True:
        with open_reading(engine) as connection:
            ids = connection.scalars(within.where(table.c.id > last)).all()
        if not ids:
            return failed
        last = ids[-1]
        unused = [id_ for id_ in ids if id_ not in used]
        if unused:
            yield from mark_clicks(engine, marks)
            failed += errors.each(unused, partial(remove_some, engine, marks, table))
        yield


def remove_some(engine: Engine, marks: Marks, table: Table, ids: Sequence[int]) -> None:
    """Removes rows, unless a click that came since uses them. Raises Outdated."""
    with interning_state.lock_alone(engine) as connection:
        last = last_id(connection, CLICKS)
        while marks.clicks < last:
            marks.read_clicks(connection, last)
        marks.check(connection)  # after reading: a row removed before the reading is in the count by then
        gone = [id_ for id_ in ids if id_ not in marks.used(table)]
        if table is TERMS and last_id(connection, TERMS) in gone:
            empty_text(connection, gone.pop())
        connection.execute(delete(table).where(table.c.id.in_(gone)))
        interning_state.count_removal(connection, interning_state.REMOVED_TEXTS)


def empty_text(connection: Connection, id_: int) -> None:
    """Clears the text of the last row. The row stays: SQLite would give its id to the next text."""
    others = delete(TERMS).where(TERMS.c.digest == digest_text(NO_TEXT), TERMS.c.id != id_)
    connection.execute(others)  # a cleared row that is no longer the last one
    row = update(TERMS).where(TERMS.c.id == id_)
    connection.execute(row.values(value=NO_TEXT, digest=digest_text(NO_TEXT)))


def last_id(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.max(table.c.id))) or 0


def open_reading(engine: Engine) -> Connection:
    return engine.connect().execution_options(reads=True)
