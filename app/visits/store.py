"""How is what plans are made of read, in as little time as it can be?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from sqlalchemy import Engine, QueuePool, Select, bindparam, case, create_engine, exists, select
from sqlalchemy.pool import PoolProxiedConnection

from app.config import Settings
from app.database import BUSY_SECONDS, prepare_engine
from app.domains.models import Domain
from app.links.models import Alias, Link, link_pixel
from app.pixels.models import Pixel

CONNECTIONS = 4  # shared by all threads of a process

OF_LINK = (
    Link.id, Link.user_id, Link.url, Link.location_url, Link.is_enabled, Link.start_date, Link.end_date,
    Link.clicks_limit, Link.expiration_url, Link.password_hash, Link.password_version, Link.sensitive_content,
    Link.http_status_code, Link.app_linking_is_enabled, Link.cloaking_is_enabled,
    Link.forward_query_parameters_is_enabled, Link.utm_source, Link.utm_medium, Link.utm_campaign,
    Link.targeting_type,
    # read only where it says something: nearly all have an empty list
    case((Link.targeting_type.is_not(None), Link.targeting)).label("targeting"),
)  # fmt: skip
LINK = (
    select(Alias.domain_id, *OF_LINK, exists().where(link_pixel.c.link_id == Link.id).label("has_pixels"))
    .join(Link, Link.id == Alias.link_id)
    .where(Alias.domain_id == bindparam("domain_id"), Alias.key == bindparam("key"))
)
DOMAINS = select(
    Domain.id, Domain.user_id, Domain.host, Domain.custom_index_url, Domain.custom_not_found_url
).where(Domain.is_verified, Domain.is_enabled)
# what only pages need: never kept, for a script alone may be 20,000 characters
PAGE = select(
    Link.title, Link.cloaking_title, Link.cloaking_meta_description, Link.cloaking_custom_js,
    Link.cloaking_favicon, Link.cloaking_opengraph,
).where(Link.id == bindparam("link_id"))  # fmt: skip
PIXELS = (
    select(Pixel.type, Pixel.pixel)
    .join(link_pixel, link_pixel.c.pixel_id == Pixel.id)
    .where(link_pixel.c.link_id == bindparam("link_id"))
    .order_by(Pixel.id)
)

Row = dict[str, Any]


class StoreDown(Exception):
    """The database gives no answer now."""


class Statement:
    """A SELECT compiled once, and run on the driver itself: a look-up takes 15 µs so, through the ORM 300."""

    def __init__(self, select: Select[*tuple[Any, ...]], engine: Engine) -> None:
        compiled = select.compile(dialect=engine.dialect)
        self.text = str(compiled)
        self.order: Sequence[str] | None = compiled.positiontup
        # literals of the statement itself have values already
        self.fixed: Mapping[str, Any] = {k: v for k, v in compiled.params.items() if v is not None}
        self.names = [str(column.key) for column in select.selected_columns]
        readers = ((str(column.key), reader(column.type, engine)) for column in select.selected_columns)
        self.readers = [(name, read) for name, read in readers if read]

    def parameters(self, values: Mapping[str, Any]) -> Any:
        named = {**self.fixed, **values}
        return named if self.order is None else tuple(named[name] for name in self.order)

    def row(self, values: Sequence[Any]) -> Row:
        row = dict(zip(self.names, values, strict=True))
        for name, read in self.readers:
            if row[name] is not None:
                row[name] = read(row[name])
        return row


def reader(kind: Any, engine: Engine) -> Callable[[Any], Any] | None:
    """How the driver's value becomes the column's, or None where they are the same."""
    dialect = engine.dialect
    found: Callable[[Any], Any] | None = kind.dialect_impl(dialect).result_processor(dialect, None)
    return found


class Free:
    """Connections that nobody uses, None for one that is not open. The last to come is the first to go, so
    that after a break the new one is used. (A LifoQueue does the same in ten times the time.)
    """

    def __init__(self) -> None:
        self.stack: list[PoolProxiedConnection | None] = []
        self.turns: SimpleQueue[None] = SimpleQueue()  # one for each in the stack, at most

    def get(self, timeout: float | None = None) -> PoolProxiedConnection | None:
        """Raises Empty when none was given back in time."""
        self.turns.get(timeout=timeout)
        return self.stack.pop()

    def put(self, connection: PoolProxiedConnection | None) -> None:
        self.stack.append(connection)
        self.turns.put(None)

    def qsize(self) -> int:
        return self.turns.qsize()


class Store:
    """Reads for one process, over connections of its own. Made before a fork, it opens them after it."""

    def __init__(self, settings: Settings) -> None:
        self.engine = create_engine(settings.database_url, **options(settings))
        prepare_engine(self.engine, settings)
        self.free = Free()
        for _ in range(CONNECTIONS):
            self.free.put(None)
        self.link_statement = Statement(LINK, self.engine)
        self.domains_statement = Statement(DOMAINS, self.engine)
        self.page_statement = Statement(PAGE, self.engine)
        self.pixels_statement = Statement(PIXELS, self.engine)

    def link(self, domain_id: int, key: str) -> Row | None:
        """The columns of the link that has this alias now."""
        rows = self.read(self.link_statement, domain_id=domain_id, key=key)
        return rows[0] if rows else None

    def page(self, link_id: int) -> Row | None:
        """What the pages of a link show."""
        rows = self.read(self.page_statement, link_id=link_id)
        return rows[0] if rows else None

    def pixels(self, link_id: int) -> list[Row]:
        """The `type` and `pixel` of each that is on a link."""
        return self.read(self.pixels_statement, link_id=link_id)

    def domains(self) -> list[Row]:
        """Every host that is somebody's: verified and enabled."""
        return self.read(self.domains_statement)

    def read(self, statement: Statement, **values: Any) -> list[Row]:
        """All rows of one statement, as of now. A connection that broke is tried anew once."""
        parameters = statement.parameters(values)
        try:
            try:
                found = self.run(statement.text, parameters)
            except self.engine.dialect.loaded_dbapi.Error:
                found = self.run(statement.text, parameters)
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise StoreDown(str(error)) from error
        return [statement.row(values) for values in found]

    def run(self, text: str, parameters: Any) -> list[Sequence[Any]]:
        try:
            connection = self.free.get(timeout=BUSY_SECONDS)
        except Empty:
            raise StoreDown("every connection waits for an answer") from None
        try:
            connection = connection or self.opened()
            cursor = connection.cursor()
            cursor.execute(text, parameters)
            found = list(cursor.fetchall())
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
        """Close what is not in use. Nothing may be read afterwards."""
        for _ in range(self.free.qsize()):
            discard(self.free.get())
        self.engine.dispose()


def options(settings: Settings) -> dict[str, Any]:
    # a database that does not answer must not hold visitors for long
    arguments = {"uri": True, "check_same_thread": False} if settings.is_sqlite else {"connect_timeout": 5}
    return {"poolclass": QueuePool, "pool_size": CONNECTIONS, "max_overflow": 0, "connect_args": arguments}


def discard(connection: PoolProxiedConnection | None) -> None:
    if connection is not None:
        with suppress(Exception):  # it is broken already; what matters is that it goes
            connection.invalidate()
