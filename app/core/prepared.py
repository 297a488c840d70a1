"""Statements that are compiled once and given to the driver itself, past most of SQLAlchemy.

Those of sessions are for what many requests run for one row. On SQLite they take a third of the time that
SQLAlchemy's own way takes. On PostgreSQL, where waiting for the server takes longest, they go its way.
"""

# see docs/decisions/2026-11-28-prepared-statements.md
from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import CompoundSelect, Dialect, Insert, Select
from sqlalchemy.engine import Connection
from sqlalchemy.sql.dml import ReturningInsert

from app.core.database import AnySession

Query = Select[*tuple[Any, ...]] | CompoundSelect[*tuple[Any, ...]]
Convert = Callable[[Any], Any]


class Statement:
    """A SELECT compiled once, for the driver itself: a look-up takes 15 µs, and 300 through the ORM."""

    def __init__(self, select: Query, dialect: Dialect) -> None:
        compiled = select.compile(dialect=dialect)
        self.text = str(compiled)
        self.order: Sequence[str] | None = compiled.positiontup
        # literals of the statement itself have values already
        self.fixed: Mapping[str, Any] = {k: v for k, v in compiled.params.items() if v is not None}
        columns = list(select.selected_columns)
        self.names = [str(column.key) for column in columns]
        readers = ((number, reader(column.type, dialect)) for number, column in enumerate(columns))
        self.readers = [(number, read) for number, read in readers if read]

    def parameters(self, values: Mapping[str, Any]) -> Any:
        named = {**self.fixed, **values} if self.fixed else values
        return named if self.order is None else tuple(map(named.__getitem__, self.order))

    def row(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.names, self.read(values), strict=True))

    def read(self, values: Sequence[Any]) -> Sequence[Any]:
        """The driver's values of a row as those of the columns."""
        found = list(values)
        for number, read in self.readers:
            if found[number] is not None:
                found[number] = read(found[number])
        return found


def reader(kind: Any, dialect: Dialect) -> Convert | None:
    """The function that makes the driver's value the column's; None if they are the same."""
    found: Convert | None = kind.dialect_impl(dialect).result_processor(dialect, None)
    return found


class PreparedSelect:
    """A SELECT of a session, without lists of values."""

    def __init__(self, select: Query) -> None:
        self.select = select
        self.statement: Statement | None = None
        # columns of joined tables may share a name: those after the first are found by their place alone
        names = [str(column.key) for column in select.selected_columns]
        self.row_type: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]

    def all(self, session: AnySession, values: Mapping[str, Any]) -> Sequence[Any]:
        """The rows, with the columns' names as attributes. Raises what SQLAlchemy raises."""
        connection = session.connection()
        if (driver := sqlite_driver(connection)) is not None:
            statement = self.statement = self.statement or Statement(self.select, connection.dialect)
            found = run_past(connection, driver, statement.text, statement.parameters(values))
            return [self.row_type._make(statement.read(row)) for row in found]
        return connection.execute(self.select, values).all()

    def first(self, session: AnySession, values: Mapping[str, Any]) -> Any:
        """The first row, or None."""
        return next(iter(self.all(session, values)), None)


class PreparedInsert:
    """An INSERT of rows that have a value for each column but the number that the database gives."""

    def __init__(self, insert: Insert | ReturningInsert[Any]) -> None:
        self.insert = insert
        self.text = ""
        self.writers: list[tuple[str, Convert | None]] = []

    def run(self, session: AnySession, rows: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Inserts one row or more. Returns what it returns of them, if that is one column; in their order
        where it says so. Raises what SQLAlchemy raises."""
        connection = session.connection()
        if len(rows) == 1 and (driver := sqlite_driver(connection)) is not None:
            if not self.text:
                self.compile(connection.dialect)
            row = rows[0]
            values = tuple(row[name] if write is None else write(row[name]) for name, write in self.writers)
            return [value for (value,) in run_past(connection, driver, self.text, values)]
        found = connection.execute(self.insert, rows)
        return found.scalars().all() if found.returns_rows else ()

    def compile(self, dialect: Dialect) -> None:
        table: Any = self.insert.table
        names = [column.key for column in table.c if column is not table.autoincrement_column]
        compiled = self.insert.compile(dialect=dialect, column_keys=names)
        self.writers = [(name, writer(table.c[name].type, dialect)) for name in compiled.positiontup or ()]
        self.text = str(compiled)


def writer(kind: Any, dialect: Dialect) -> Convert | None:
    """The function that makes a column's value the driver's; None if they are the same."""
    found: Convert | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return found


def sqlite_driver(connection: Connection) -> sqlite3.Connection | None:
    """The driver's connection to SQLite. None on PostgreSQL, and where something hears of each statement, as
    traces do."""
    if connection.engine.dispatch.before_cursor_execute:
        return None
    driver = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None


def run_past(connection: Connection, driver: sqlite3.Connection, text: str, values: Any) -> Sequence[Any]:
    """All rows of a statement as the driver returns them. An error is what SQLAlchemy makes of it: it is
    counted, noted and translated like those of all other statements."""
    try:
        return driver.execute(text, values).fetchall()
    except sqlite3.Error as error:
        connection._handle_dbapi_exception(error, text, values, None, None)  # noqa: SLF001  it offers no other way
