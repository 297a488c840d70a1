"""Fast reads of links and hosts from the database, past the ORM."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from sqlalchemy import CompoundSelect, Dialect, QueuePool, Select, create_engine
from sqlalchemy.pool import PoolProxiedConnection

from app.core.config import Settings
from app.core.database import prepare_engine
from app.core.database_damage import note_damage
from app.core.errors import StoreDown
from app.core.patience import VISITS, Patience
from app.core.sqlite import BUSY_SECONDS
from app.redirects.queries import (
    DOMAINS,
    LINK,
    LINKS,
    NAMES,
    NEWEST,
    NOTHING_SET,
    OF_EACH,
    PAGE_VALUES,
    PIXELS,
)

CONNECTIONS = 4  # shared by all threads of a process
RETRY_SECONDS = 1.0

Row = dict[str, Any]
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


class Free:
    """Unused connections, None for one that is not open. Last in, first out, so that after a failure the new
    one is used. (A LifoQueue does the same in ten times the time.)
    """

    def __init__(self) -> None:
        self.stack: list[PoolProxiedConnection | None] = []
        self.turns: SimpleQueue[None] = SimpleQueue()  # one for each in the stack, at most

    def get(self, timeout: float | None = None) -> PoolProxiedConnection | None:
        """Take a connection. Raises Empty if none was given back in time."""
        self.turns.get(timeout=timeout)
        return self.stack.pop()

    def put(self, connection: PoolProxiedConnection | None) -> None:
        self.stack.append(connection)
        self.turns.put(None)

    def qsize(self) -> int:
        return self.turns.qsize()


class DirectReader:
    """Reads over a few connections of its own. Made before a fork, it opens them after it."""

    def __init__(self, settings: Settings, patience: Patience, connections: int) -> None:
        self.engine = create_engine(settings.database_url, **options(settings, connections))
        prepare_engine(self.engine, settings, patience=patience)
        self.wait_seconds = BUSY_SECONDS if settings.is_sqlite else patience.connect
        self.data_dir = settings.data_dir
        self.free = Free()
        for _ in range(connections):
            self.free.put(None)

    def read(self, statement: Statement, **values: Any) -> list[Row]:
        """All rows of one statement, as of now."""
        return [statement.row(found) for found in self.values(statement, **values)]

    def values(self, statement: Statement, **values: Any) -> Sequence[Sequence[Any]]:
        """All rows of one statement as the driver returns them. Raises StoreDown.

        A failed read is tried once more, on another connection; not one that took long, for the next would
        take as long where the database hangs.
        """
        parameters, began = statement.parameters(values), time.monotonic()
        try:
            try:
                return self.run(statement.text, parameters)
            except self.engine.dialect.loaded_dbapi.Error:
                if time.monotonic() - began > RETRY_SECONDS:
                    raise
                return self.run(statement.text, parameters)
        except self.engine.dialect.loaded_dbapi.Error as error:
            note_damage(error, self.data_dir)
            raise StoreDown(str(error)) from error

    def run(self, text: str, parameters: Any) -> Sequence[Sequence[Any]]:
        try:
            connection = self.free.get(timeout=self.wait_seconds)
        except Empty:
            raise StoreDown("every connection waits for an answer") from None
        try:
            connection = connection or self.opened()
            cursor = connection.cursor()
            cursor.execute(text, parameters)
            found: Sequence[Sequence[Any]] = cursor.fetchall()
            cursor.close()
        except BaseException:
            discard(connection)
            connection = None
            raise
        finally:
            self.free.put(connection)
        return found

    def opened(self) -> PoolProxiedConnection:
        connection = self.engine.raw_connection()
        if self.engine.dialect.name == "postgresql":
            connection.dbapi_connection.autocommit = True  # type: ignore[union-attr]  # each read sees what is there now
        return connection

    def close(self) -> None:
        """Close all unused connections. Nothing may be read afterwards."""
        for _ in range(self.free.qsize()):
            discard(self.free.get())
        self.engine.dispose()


class Store(DirectReader):
    """The reads of one process for its visitors, over connections that all its threads share."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, VISITS, CONNECTIONS)
        self.link_statement = Statement(LINK, self.engine.dialect)
        self.links_statement = Statement(LINKS, self.engine.dialect)
        self.newest_statement = Statement(NEWEST, self.engine.dialect)
        self.domains_statement = Statement(DOMAINS, self.engine.dialect)
        self.page_statement = Statement(PAGE_VALUES, self.engine.dialect)
        self.pixels_statement = Statement(PIXELS, self.engine.dialect)

    def link(self, domain_id: int, key: str) -> Row | None:
        """The columns of the link that has this alias now; without options, only those in `OF_EACH`."""
        found = self.values(self.link_statement, domain_id=domain_id, key=key)
        return self.link_row(found[0]) if found else None

    def link_row(self, values: Sequence[Any]) -> Row:
        if tuple(values[len(OF_EACH) :]) == NOTHING_SET:
            return dict(zip(NAMES, values, strict=False))
        return self.link_statement.row(values)

    def links(self, after: int) -> list[tuple[str, Row]]:
        """The next links by id, after this id: each alias's key, and the columns as `link` returns them."""
        return [(key, self.link_row(rest)) for key, *rest in self.values(self.links_statement, after=after)]

    def newest(self) -> int:
        """The highest id of a link, 0 without links."""
        return self.values(self.newest_statement)[0][0] or 0

    def page_details(self, link_id: int) -> Row | None:
        """The columns that the pages of a link show."""
        rows = self.read(self.page_statement, link_id=link_id)
        return rows[0] if rows else None

    def pixels(self, link_id: int) -> list[Row]:
        """The `type` and `pixel` of each pixel of a link."""
        return self.read(self.pixels_statement, link_id=link_id)

    def domains(self) -> list[Row]:
        """Every verified domain, enabled or not."""
        return self.read(self.domains_statement)


def options(settings: Settings, connections: int) -> dict[str, Any]:
    arguments = {"uri": True, "check_same_thread": False} if settings.is_sqlite else {}
    return {"poolclass": QueuePool, "pool_size": connections, "max_overflow": 0, "connect_args": arguments}


def discard(connection: PoolProxiedConnection | None) -> None:
    if connection is not None:
        with suppress(Exception):  # it may be broken already; it only has to be dropped
            connection.invalidate()
