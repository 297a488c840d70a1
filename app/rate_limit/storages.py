"""Storages of counts, shared by all processes: Redis where it is set, else a table.

The table is in the instance's PostgreSQL, or in a SQLite file of its own: counts of minutes are not worth a
sync of the disk, and must not wait for the locks of what is.
"""

# see docs/decisions/2026-11-20-rates.md
from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

from limits.storage import RedisStorage, Storage
from limits.storage.base import MovingWindowSupport
from sqlalchemy import (
    JSON,
    Engine,
    Float,
    Integer,
    QueuePool,
    String,
    Table,
    create_engine,
    event,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from app.core.config import Settings
from app.core.extensions import db
from app.core.patience import COUNTS
from app.core.postgresql import psycopg, watch_waiting
from app.core.redis_client import connection_options, redis

Run = Callable[..., Any]

FILE = "rate_limits.db"  # in DATA_DIR
BUSY_SECONDS = 2.0
CONNECTIONS = 4  # of one process to PostgreSQL; each is used for a millisecond
RECYCLE_SECONDS = 600
PRUNE_EVERY = 500  # counts of one process
MAX_ROWS = 100_000  # beyond it, those that expire first are forgotten: some 20 MB

# the row is locked until the transaction ends
LOCK = """
    INSERT INTO rate_limit_count (key, hits, count, expires) VALUES (:key, :hits, 0, :expires)
    ON CONFLICT (key) DO UPDATE SET expires = excluded.expires RETURNING hits
"""
KEEP = "UPDATE rate_limit_count SET hits = :hits WHERE key = :key"
LOOK = "SELECT hits FROM rate_limit_count WHERE key = :key"
COUNT = """
    INSERT INTO rate_limit_count AS known (key, hits, count, expires)
    VALUES (:key, :hits, :amount, :expires)
    ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN known.expires <= :now THEN excluded.count ELSE known.count + excluded.count END,
        expires = CASE WHEN known.expires <= :now THEN excluded.expires ELSE known.expires END
    RETURNING count
"""
FIND = "SELECT count, expires FROM rate_limit_count WHERE key = :key"
REMOVE = "DELETE FROM rate_limit_count WHERE key IN (:key, :moving)"
PRUNE = """
    DELETE FROM rate_limit_count WHERE expires <= :now OR expires <= (
        SELECT expires FROM rate_limit_count ORDER BY expires DESC LIMIT 1 OFFSET :rows
    )
"""


class RateLimitCount(db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """One window of one client, until it `expires` (seconds since 1970).

    A moving window has the times of its `hits`, the newest first; a fixed one has a `count`. The key is a
    keyed hash with the limit's name. On PostgreSQL the table is UNLOGGED: a crash of the server forgets the
    counts of minutes, and no copy of it holds them. `main.db` has the table, and does not use it.
    """

    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    hits: Mapped[list[float]] = mapped_column(JSON().with_variant(ARRAY(Float), "postgresql"))
    count: Mapped[int] = mapped_column(Integer)
    expires: Mapped[float] = mapped_column(Float, index=True)


TABLE: Table = RateLimitCount.__table__
PREPARE: Sequence[ExecutableDDLElement] = (
    CreateTable(TABLE, if_not_exists=True),
    *(CreateIndex(index, if_not_exists=True) for index in TABLE.indexes),
)


class SharedStorage(RedisStorage):
    """The library's storage in Redis, and what it lacks."""

    def __init__(self, redis_url: str) -> None:
        super().__init__(redis_url, wrap_exceptions=False, **connection_options())

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        return (redis.RedisError, OSError)

    def remove_newest(self, key: str) -> None:
        """Take back the last hit of a moving window."""
        client: Any = self.get_connection()  # its type names few of Redis's commands
        client.lpop(self.prefixed_key(key))

    def close(self) -> None:
        client: Any = self.get_connection()
        client.close()


class TableStorage(Storage, MovingWindowSupport):
    """One row for each window. Its connections are its own: the main pool waits longer for an answer.

    Every request with a key counts, so statements go to the driver: SQLAlchemy, which keeps the connections,
    would take three times as long. Each is a transaction, unless one was begun.
    """

    STORAGE_SCHEME = None

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.lock = threading.Lock()
        self.engine: Engine | None = None
        self.pid = 0
        self.written = count(1)

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        driver = sqlite3.Error if self.settings.is_sqlite else psycopg.Error
        return (driver, PoolTimeout, OSError)

    def make_engine(self) -> Engine:
        if self.settings.is_sqlite:
            return open_file(self.settings.data_dir / FILE)
        found = create_engine(
            self.settings.database_url,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=COUNTS.silence,
            pool_recycle=RECYCLE_SECONDS,
        )
        watch_waiting(found, COUNTS)
        return found

    def own_engine(self) -> Engine:
        """The engine of this process: connections must not be carried over a fork."""
        if self.engine is None or self.pid != os.getpid():
            with self.lock:
                if self.engine is None or self.pid != os.getpid():
                    self.engine, self.pid = self.make_engine(), os.getpid()
        return self.engine

    def close(self) -> None:
        if self.engine is not None and self.pid == os.getpid():
            self.engine.dispose()

    @contextmanager
    def connection(self) -> Iterator[Run]:
        """A function that runs a statement with its values, and returns the first row, if any."""
        pooled = self.own_engine().raw_connection()
        driver: Any = pooled.driver_connection
        if not self.settings.is_sqlite:
            driver.autocommit = True

        def run(statement: str, **values: Any) -> Any:
            if not self.settings.is_sqlite:
                cursor = driver.execute(of_psycopg(statement), values)
                return cursor.fetchone() if cursor.description else None
            if "hits" in values:
                values["hits"] = json.dumps(values["hits"])
            return driver.execute(statement, values).fetchone()

        try:
            yield run
        except self.base_exceptions:
            pooled.invalidate()
            raise
        finally:
            pooled.close()

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        with self.connection() as run:
            run("BEGIN IMMEDIATE" if self.settings.is_sqlite else "BEGIN")
            yield run
            run("COMMIT")

    def run(self, statement: str, **values: Any) -> Any:
        with self.connection() as run:
            return run(statement, **values)

    def hits_of(self, row: Any, expiry: float = inf) -> list[float]:
        """The hits of the last `expiry` seconds, the newest first."""
        found = json.loads(row[0]) if row and self.settings.is_sqlite else row[0] if row else []
        return [hit for hit in found if hit > time.time() - expiry]

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Counts `amount` hits unless that makes more than `limit` within the last `expiry` seconds."""
        if self.get_moving_window(key, limit, expiry)[1] + amount > limit:
            return False  # without a write: these are the most under an attack
        self.prune_at_times()
        now = time.time()
        with self.transaction() as run:
            hits = self.hits_of(run(LOCK, key=moving(key), hits=[], expires=now + expiry), expiry)
            is_allowed = len(hits) + amount <= limit
            if is_allowed:
                run(KEEP, key=moving(key), hits=[*[now] * amount, *hits])
        return is_allowed

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002
        """The time of the oldest hit within the window, and the number of hits."""
        hits = self.hits_of(self.run(LOOK, key=moving(key)), expiry)
        return (hits[-1] if hits else time.time()), len(hits)

    def remove_newest(self, key: str) -> None:
        """Take back the last hit of a moving window."""
        with self.transaction() as run:
            if hits := self.hits_of(run(LOOK, key=moving(key))):
                run(KEEP, key=moving(key), hits=hits[1:])

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Adds to the open fixed window, or opens one of `expiry` seconds. Returns its count."""
        self.prune_at_times()
        now = time.time()
        return int(self.run(COUNT, key=key, hits=[], amount=amount, now=now, expires=now + expiry)[0])

    def get(self, key: str) -> int:
        number, expires = self.run(FIND, key=key) or (0, 0.0)
        return int(number) if expires > time.time() else 0

    def get_expiry(self, key: str) -> float:
        return float((self.run(FIND, key=key) or (0, time.time()))[1])

    def check(self) -> bool:
        return self.run("SELECT 1") is not None

    def reset(self) -> int | None:
        self.run("DELETE FROM rate_limit_count")
        return None

    def clear(self, key: str) -> None:
        self.run(REMOVE, key=key, moving=moving(key))

    def prune_at_times(self) -> None:
        """Deletes expired windows, and those beyond MAX_ROWS, with every PRUNE_EVERY counts."""
        if next(self.written) % PRUNE_EVERY == 0:
            self.run(PRUNE, now=time.time(), rows=MAX_ROWS)


@cache
def of_psycopg(statement: str) -> bytes:
    """The statement with psycopg's placeholders instead of SQLite's."""
    return re.sub(r":(\w+)", r"%(\1)s", statement).encode()


def moving(key: str) -> str:
    """The key of a moving window: a fixed one of the same limit has another row."""
    return f"m:{key}"


def open_file(path: Path) -> Engine:
    """An engine over the file of counts. Threads take turns on one connection, as SQLite has one writer."""
    arguments = {"timeout": BUSY_SECONDS, "isolation_level": None, "check_same_thread": False}
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        connect_args=arguments,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _entry: Any) -> None:
        path.chmod(0o600)  # SQLite gives the files beside it the same mode
        connection.execute("PRAGMA synchronous = OFF")  # a power cut may lose counts of the last minutes
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise  # it is not that another process does the same now
        for statement in PREPARE:
            connection.execute(str(statement.compile(dialect=engine.dialect)))

    return engine
