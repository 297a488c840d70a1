"""Database engines and transactions on SQLite and on PostgreSQL.

SQLite keeps two files: `main.db`, which owners write, and `clicks.db`, which only the ingesting process
writes. Web connections attach the second read-only under the schema name `clicks`; on PostgreSQL it is
a schema of that name. So a model with `schema="clicks"` reads the same on both.
"""

# see docs/decisions/2026-11-20-writes-begin-immediate.md
from __future__ import annotations

import datetime as dt
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

from sqlalchemy import (
    BigInteger,
    DateTime,
    Dialect,
    Engine,
    Integer,
    MetaData,
    QueuePool,
    Select,
    String,
    Text,
    event,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy import exc as failures
from sqlalchemy.engine import Connection, ExceptionContext
from sqlalchemy.exc import IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import DeclarativeBase, InstanceState, Session, scoped_session
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.types import TypeDecorator

from app.core.config import Settings
from app.core.counters import counters
from app.core.database_damage import watch_engine
from app.core.errors import NotFound
from app.core.patience import COMMANDS, Patience
from app.core.postgresql import watch_waiting
from app.core.sqlite import BUSY_SECONDS, prepare_sqlite
from app.i18n.messages import in_english, pack, unpack

CLICKS = "clicks"
CLICKHOUSE = (
    "clickhouse"  # the option of an engine that says where its clicks are; None for the same database
)
DRIVERS = ("sqlite3", "psycopg")  # the second is loaded with the first connection
KEPT_CONNECTIONS = 8  # to PostgreSQL, open while they are idle
# the most that a request waits for writing down what a later one can write as well
WAIT_MILLISECONDS = 50
STEPS_BETWEEN_LOOKS = 100_000  # of SQLite's machine, some milliseconds: between two looks at the clock
STATEMENT_TIMED_OUT = "57014"  # PostgreSQL's code

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

AnySession = Session | scoped_session[Any]

_pools: WeakSet[CountingPool] = WeakSet()
Id = BigInteger().with_variant(Integer(), "sqlite")


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)


class PersonalRow:
    """Base of the models whose rows are one member's in a workspace, as `user_id` says.

    Generic look-ups answer other members as if the row were missing.
    """


class UtcDateTime(TypeDecorator[dt.datetime]):
    """An aware moment outside, a naive one in UTC in the database."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(dt.UTC).replace(tzinfo=None)

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:  # noqa: ARG002
        return None if value is None else value.replace(tzinfo=dt.UTC)


class MessageText(TypeDecorator[str]):
    """A message for people: kept with its values, and worded in the language of its reader.

    One that is too long for its column is kept as its English text.
    """

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        packed, length = pack(value), getattr(self.impl, "length", None)
        return packed if length is None or len(packed) <= length else in_english(value)[:length]

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else unpack(value)


class LongMessageText(MessageText):
    """The same without a bound."""

    impl = Text
    cache_ok = True


class CountingPool(QueuePool):
    """The pool of an engine for pages or for the worker's threads."""

    # SQLAlchemy names its logger after the module, and its own are quiet by default
    __module__ = QueuePool.__module__

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.most = self.size() + max(0, self._max_overflow)
        _pools.add(self)
        if options.get("_dispatch") is None:  # a pool that takes another one's place has its listeners
            event.listen(self, "checkout", lambda *_: note_use())
            event.listen(self, "checkin", lambda *_: note_use(-1))  # it is put back only after this

    def connect(self) -> PoolProxiedConnection:
        started = time.perf_counter_ns()
        try:
            return super().connect()
        except PoolTimeoutError:
            counters.add("database timeouts")
            raise
        finally:
            counters.add("database checkouts")
            counters.add("database wait ns", time.perf_counter_ns() - started)


def note_use(more: int = 0) -> None:
    """Store how many connections of all pools of this process are in use."""
    in_use = at_most = 0
    for pool in list(_pools):
        in_use += max(0, pool.checkedout())  # below 0 where a disposed pool's last connections came back
        at_most += pool.most
    counters.set("connections in use", in_use + more)
    counters.set("connections at most", at_most)


def clicks_path(settings: Settings) -> Path:
    """The path of `clicks.db`: beside `main.db`, unless `CLICKS_URL` names another one."""
    url = make_url(settings.clicks_url) if settings.clicks_url else make_url(settings.database_url)
    path = Path(url.database or "")
    return path if settings.clicks_url else path.with_name("clicks.db")


def engine_options(settings: Settings) -> dict[str, Any]:
    # the text of an error goes to the log, which must hold no values of rows
    common: dict[str, Any] = {"hide_parameters": True, "poolclass": CountingPool}
    if settings.is_sqlite:
        # one for each thread of a web process (`POOLS` in app/http_server/dispatcher.py), so none waits
        return common | {
            "pool_size": 8,
            "max_overflow": 112,
            # the one that was used last: a commit empties the caches of all other connections
            "pool_use_lifo": True,
            "connect_args": {"uri": True, "check_same_thread": False},
        }
    return common | {
        "pool_size": min(KEPT_CONNECTIONS, settings.database_pool_size),
        "max_overflow": max(0, settings.database_pool_size - KEPT_CONNECTIONS),
        "pool_pre_ping": True,
        "pool_timeout": BUSY_SECONDS,
    }


def prepare_engine(
    engine: Engine, settings: Settings, *, clicks_mode: str = "ro", patience: Patience = COMMANDS
) -> None:
    """Install what each new connection needs. `clicks_mode`, of SQLite: `ro`, or `rwc` for migrations.
    `patience`: how long one waits for PostgreSQL; SQLite has no server that could hang."""
    watch_engine(engine, settings.data_dir)
    count_errors(engine)
    engine.update_execution_options(**{CLICKHOUSE: settings.clickhouse_url})
    if engine.dialect.name == "sqlite":
        prepare_sqlite(engine, settings.data_dir, clicks_path(settings), clicks_mode)
    else:
        watch_waiting(engine, patience)


def count_errors(engine: Engine) -> None:
    """Count the errors of an engine: the database gave no answer, or refused a statement.

    What a constraint refuses is left out: that is how two requests for one alias are told apart.
    """

    @event.listens_for(engine, "handle_error")
    def count(context: ExceptionContext) -> None:
        error = context.sqlalchemy_exception or context.original_exception
        if is_outage(error):
            counters.add("database errors outage")
        elif not isinstance(context.sqlalchemy_exception, IntegrityError):
            counters.add("database errors statement")


def takes_no_writes(session: AnySession, files: Iterable[Path]) -> bool:
    """Whether the database answers, but only to readers: SQLite's files without the right to write them, or a
    PostgreSQL that is a standby or was made read-only. Writes nothing."""
    if session.get_bind().dialect.name == "postgresql":
        return bool(session.scalar(text("SHOW transaction_read_only")) == "on")
    session.execute(text("SELECT 1"))
    return not all(os.access(each, os.R_OK | os.W_OK) for path in files for each in (path, path.parent))


def begin_write(session: AnySession) -> None:
    """Ends the read and begins the write: from here on no other commit can come between.

    On SQLite a transaction that has read and then writes fails at once when another one committed in
    between, and no busy timeout helps; `BEGIN IMMEDIATE` waits its turn instead. (The attached
    `clicks.db` is read-only, so SQLite takes no write lock on it.)
    """
    session.rollback()
    session.connection(execution_options={"sqlite_begin": "IMMEDIATE"})


def begin_read(session: AnySession) -> None:
    """Begins a read transaction with one snapshot, whatever is committed before it ends.

    Figures are made of several statements, and on PostgreSQL each has a snapshot of its own otherwise: a
    click that moves from the rows to the roll-ups meanwhile would be in neither, or in both. (On SQLite every
    read transaction has one snapshot.)
    """
    if session.get_bind().dialect.name == "postgresql":
        session.rollback()
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def is_outage(error: BaseException) -> bool:
    """Whether the database gives no answer or takes no writes, so that no row is to blame.

    Both databases also report as OperationalError that one statement took too long, and PostgreSQL that a
    value is too large for an index (class 54). These are no outages.
    """
    if isinstance(error, failures.TimeoutError | failures.InterfaceError):
        return True
    drivers: list[Any] = [sys.modules[name] for name in DRIVERS if name in sys.modules]
    if any(type(error) is driver.Error for driver in drivers):  # it says no more than that it failed
        return True
    state = str(getattr(getattr(error, "orig", error), "sqlstate", None) or "")
    is_answer = state.startswith("54") or is_interrupted(error)
    return (
        isinstance(error, (failures.OperationalError, *(driver.OperationalError for driver in drivers)))
        and not is_answer
    )


@cache
def read_columns(model: Any) -> Select[Any]:
    """The query for rows of `model` that are only shown: its columns, without those that are deferred.

    Such a row has the attributes of the columns, in a third of the time that the ORM takes for an object.
    Built once for each model: building takes longer than running.
    """
    attributes = inspect(model).column_attrs
    return select(*(model.__table__.c[each.key] for each in attributes if not each.deferred))


def reread(session: AnySession, row: Any) -> None:
    """Reads a row again inside the write and locks it. Raises NotFound when it is gone.

    What was read before the write began may be stale: another request may have deleted the row.
    """
    state: InstanceState[Any] = inspect(row)
    found = state.identity and session.get(
        type(row), state.identity, populate_existing=True, with_for_update=True
    )
    if not found:
        raise NotFound(str(type(row).__tablename__).replace("_", " "))


@contextmanager
def time_bound(session: AnySession, seconds: float) -> Iterator[None]:
    """Ends the queries within, together, after some seconds. Raises TimeoutError then."""
    connection = session.connection()
    is_sqlite = connection.dialect.name == "sqlite"
    driver: Any = connection.connection.driver_connection
    until = time.monotonic() + seconds
    try:
        if is_sqlite:
            driver.set_progress_handler(lambda: time.monotonic() > until, STEPS_BETWEEN_LOOKS)
        else:
            before = connection.scalar(text("SHOW statement_timeout"))
            connection.execute(text(f"SET LOCAL statement_timeout = {int(seconds * 1000)}"))
        yield
        if not is_sqlite:
            connection.execute(text(f"SET LOCAL statement_timeout = '{before}'"))
    except failures.DBAPIError as error:
        if is_interrupted(error):
            raise TimeoutError from error
        raise
    finally:
        if is_sqlite:
            driver.set_progress_handler(None, 0)


def is_interrupted(error: BaseException) -> bool:
    """Whether a statement was ended because it took too long."""
    found = getattr(error, "orig", error)
    code = getattr(found, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_INTERRUPT or getattr(found, "sqlstate", None) == STATEMENT_TIMED_OUT


@contextmanager
def impatient(connection: Connection, milliseconds: int = WAIT_MILLISECONDS) -> Iterator[None]:
    """Waits for a lock no longer than `milliseconds`."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL lock_timeout = {milliseconds}"))
        yield
        return
    connection.execute(text(f"PRAGMA busy_timeout = {milliseconds}"))
    try:
        yield
    finally:  # the connection goes back to the pool, to be used with the usual timeout
        connection.rollback()
        connection.execute(text(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}"))
