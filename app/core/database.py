"""How are rows stored, on SQLite and on PostgreSQL, and how does a write begin?

SQLite keeps two files: `main.db`, which owners write, and `clicks.db`, which only the ingesting process
writes. Web connections attach the second read-only under the schema name `clicks`; on PostgreSQL it is
a schema of that name. So a model with `schema="clicks"` reads the same on both.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import (
    BigInteger,
    DateTime,
    Dialect,
    Engine,
    Integer,
    MetaData,
    event,
    inspect,
    make_url,
    text,
)
from sqlalchemy import exc as failures
from sqlalchemy.engine import Connection
from sqlalchemy.orm import DeclarativeBase, InstanceState, Session, scoped_session
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.types import TypeDecorator

from app.config import Settings
from app.database_damage import watch_engine
from app.errors import NotThere

CLICKS = "clicks"
BUSY_SECONDS = 10
CONNECT_SECONDS = 5
# the most that a request waits for writing down what a later one can write as well
WAIT_MILLISECONDS = 50

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

AnySession = Session | scoped_session[Any]

Id = BigInteger().with_variant(Integer(), "sqlite")


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)


class UtcDateTime(TypeDecorator[dt.datetime]):
    """An aware moment outside, a naive one in UTC in the database."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(dt.UTC).replace(tzinfo=None)

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:  # noqa: ARG002
        return None if value is None else value.replace(tzinfo=dt.UTC)


def clicks_path(settings: Settings) -> Path:
    """Where `clicks.db` lies: beside `main.db`, unless `CLICKS_URL` says otherwise."""
    url = make_url(settings.clicks_url) if settings.clicks_url else make_url(settings.database_url)
    path = Path(url.database or "")
    return path if settings.clicks_url else path.with_name("clicks.db")


def engine_options(settings: Settings) -> dict[str, Any]:
    # what an error says ends in the log, which keeps no values
    common: dict[str, Any] = {"hide_parameters": True}
    if settings.is_sqlite:
        # one for each thread of a web process (`POOLS` in app/http_server/dispatcher.py), so none waits
        return common | {
            "pool_size": 8,
            "max_overflow": 112,
            "connect_args": {"uri": True, "check_same_thread": False},
        }
    return common | {
        "pool_size": 8,
        "max_overflow": 12,
        "pool_pre_ping": True,
        "pool_timeout": BUSY_SECONDS,
        # where no packet comes back, the health checks must answer all the same
        "connect_args": {"connect_timeout": CONNECT_SECONDS},
    }


def prepare_engine(engine: Engine, settings: Settings, *, clicks_mode: str = "ro") -> None:
    """Install what each new SQLite connection needs. `clicks_mode`: `ro`, or `rwc` for migrations."""
    watch_engine(engine, settings.data_dir)
    if engine.dialect.name != "sqlite":
        return
    clicks = f"{clicks_path(settings).absolute().as_uri()}?mode={clicks_mode}"

    @event.listens_for(engine, "connect")
    def connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver's own BEGIN is neither immediate nor around DDL
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        connection.execute("ATTACH DATABASE ? AS clicks", (clicks,))
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA main.journal_mode = WAL")
        if clicks_mode != "ro":
            connection.execute("PRAGMA clicks.journal_mode = WAL")
        connection.execute("PRAGMA main.synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # the worker alone checkpoints
        connection.create_function("lower", 1, lower, deterministic=True)  # its own knows ASCII only

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get('sqlite_begin', '')}")


def lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def begin_write(session: AnySession) -> None:
    """End the read and begin the write: from here nobody else's commit can come between.

    On SQLite a transaction that has read and then writes fails at once when somebody committed in
    between, and no busy timeout helps; `BEGIN IMMEDIATE` waits its turn instead. (The attached
    `clicks.db` is read-only, so SQLite takes no write lock on it.)
    """
    session.rollback()
    session.connection(execution_options={"sqlite_begin": "IMMEDIATE"})


def begin_read(session: AnySession) -> None:
    """End what was read and begin a read of one moment, whatever is committed before it ends.

    Figures are made of several statements, and on PostgreSQL each sees a moment of its own otherwise: a
    visit that moves from the rows to the roll-ups meanwhile would be in none, or in both. (On SQLite every
    read is of one moment.)
    """
    if session.get_bind().dialect.name == "postgresql":
        session.rollback()
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def is_outage(error: BaseException) -> bool:
    """Whether the database gives no answer, or takes no writes, which no row is to blame for.

    PostgreSQL says in the same way that a value is too large for an index (class 54), and that one statement
    took too long (57014).
    """
    if isinstance(error, failures.TimeoutError | failures.InterfaceError):
        return True
    if type(error) in {sqlite3.Error, psycopg.Error}:  # a driver that says no more than that it failed
        return True
    state = str(getattr(getattr(error, "orig", error), "sqlstate", None) or "")
    is_answer = state.startswith("54") or state == "57014"
    return (
        isinstance(error, failures.OperationalError | sqlite3.OperationalError | psycopg.OperationalError)
        and not is_answer
    )


def reread(session: AnySession, row: Any) -> None:
    """Read a row anew inside the write and keep others from changing it. Raises NotThere when it is gone.

    What was read before the write began may be old by now: somebody else may have deleted it.
    """
    state: InstanceState[Any] = inspect(row)
    found = state.identity and session.get(
        type(row), state.identity, populate_existing=True, with_for_update=True
    )
    if not found:
        raise NotThere(str(type(row).__tablename__).replace("_", " "))


@contextmanager
def impatient(connection: Connection, milliseconds: int = WAIT_MILLISECONDS) -> Iterator[None]:
    """Wait for a lock no longer than that."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL lock_timeout = {milliseconds}"))
        yield
        return
    connection.execute(text(f"PRAGMA busy_timeout = {milliseconds}"))
    try:
        yield
    finally:  # the connection goes back to the pool, for those who have time
        connection.rollback()
        connection.execute(text(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}"))
