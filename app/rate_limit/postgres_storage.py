"""Counts of rate limits in PostgreSQL, which several machines share where they have no Redis."""

# see docs/decisions/2026-11-25-engines-that-do-not-answer.md
from __future__ import annotations

import os
import threading
import time
from itertools import count
from typing import Any, LiteralString, cast

from sqlalchemy import JSON, Float, Integer, QueuePool, String, make_url
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Mapped, mapped_column

from app.core.extensions import db
from app.core.patience import Patience
from app.core.postgresql import postgresql_connection, psycopg
from app.rate_limit.window_storage import WindowStorage

# the most that a request waits for a server that does not answer, once: a circuit breaker keeps others away
ANSWER_SECONDS = 0.2
# without telling the server that its answer is not waited for: each statement changes one row
COUNTS = Patience(connect=2, silence=ANSWER_SECONDS, is_cancelled=False)
CONNECTIONS = 4  # of one process; each is used for less than a millisecond
RECYCLE_SECONDS = 600
PRUNE_EVERY = 500  # counts of one process
MAX_ROWS = 100_000  # beyond it, those that expire first are forgotten: some 20 MB

HIT = """
INSERT INTO rate_limit_count AS known (key, hits, count, expires)
VALUES (%(key)s, array_fill(%(now)s::float8, ARRAY[%(amount)s::int]), 0, %(now)s::float8 + %(expiry)s)
ON CONFLICT (key) DO UPDATE SET
    hits = excluded.hits
        || ARRAY(SELECT hit FROM unnest(known.hits) AS hit WHERE hit > %(now)s::float8 - %(expiry)s),
    expires = excluded.expires
WHERE (SELECT count(*) FROM unnest(known.hits) AS hit WHERE hit > %(now)s::float8 - %(expiry)s) + %(amount)s
    <= %(limit)s
RETURNING 1
"""
COUNT = """
INSERT INTO rate_limit_count AS known (key, hits, count, expires)
VALUES (%(key)s, '{}', %(amount)s, %(now)s::float8 + %(expiry)s)
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN known.expires <= %(now)s THEN excluded.count ELSE known.count + excluded.count END,
    expires = CASE WHEN known.expires <= %(now)s THEN excluded.expires ELSE known.expires END
RETURNING count, expires
"""
LOOK = """
SELECT min(hit), count(*) FROM rate_limit_count, unnest(hits) AS hit
WHERE key = %(key)s AND hit > %(now)s::float8 - %(expiry)s
"""
PRUNE = """
DELETE FROM rate_limit_count WHERE expires <= greatest(%(now)s::float8, (
    SELECT expires FROM rate_limit_count ORDER BY expires DESC OFFSET %(rows)s LIMIT 1
))
"""


class RateLimitCount(db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """One window of one client, until it `expires` (seconds since 1970).

    A moving window has the times of its `hits`, the newest first; a fixed one has a `count`. The key is a
    keyed hash with the limit's name. On PostgreSQL the table is UNLOGGED: a crash of the server forgets the
    counts of minutes, and no copy of it holds them. SQLite has the table, and does not use it.
    """

    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    hits: Mapped[list[float]] = mapped_column(JSON().with_variant(ARRAY(Float), "postgresql"))
    count: Mapped[int] = mapped_column(Integer)
    expires: Mapped[float] = mapped_column(Float, index=True)


class DatabaseStorage(WindowStorage):
    """One row for each window, changed by one statement, and so atomic for all machines.

    It has connections of its own: the main pool waits for a database that does not answer.
    """

    def __init__(self, database_url: str) -> None:
        super().__init__()
        url = make_url(database_url)
        _, address = url.get_dialect()().create_connect_args(url)
        self.address: dict[str, Any] = {**address}
        self.lock = threading.Lock()
        self.pool, self.pid = self.make_pool(), os.getpid()
        self.written = count(1)

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        return (psycopg.Error, PoolTimeout, OSError)

    def make_pool(self) -> QueuePool:
        return QueuePool(
            cast("Any", self.connect),  # whose type the library does not know
            pool_size=CONNECTIONS,
            max_overflow=0,
            timeout=ANSWER_SECONDS,
            recycle=RECYCLE_SECONDS,
            reset_on_return=None,
        )

    def connect(self) -> postgresql_connection.Connection:
        # without prepared statements, which PgBouncer may not know on its next connection
        return postgresql_connection.open_connection(
            COUNTS, **self.address, autocommit=True, prepare_threshold=None
        )

    def run(self, statement: LiteralString, **values: Any) -> tuple[Any, ...] | None:
        """The first row of a statement's result, if any."""
        pool = self.own_pool()
        connection = pool.connect()
        try:
            driver = cast("postgresql_connection.Connection", connection.dbapi_connection)
            cursor = driver.execute(statement, values)
            return cursor.fetchone() if cursor.description else None
        except psycopg.Error:
            self.begin_anew(pool)
            raise
        finally:
            if pool is not self.pool:  # given up, by this thread or another one: nobody would close it
                connection.invalidate()
            connection.close()

    def own_pool(self) -> QueuePool:
        """The pool of this process: connections must not be carried over a fork."""
        if self.pid != os.getpid():
            self.pool, self.pid = self.make_pool(), os.getpid()
        return self.pool

    def begin_anew(self, failed: QueuePool) -> None:
        """Gives up all idle connections after one has failed: a restarted server knows none of them."""
        with self.lock:
            if self.pool is failed:
                self.pool = self.make_pool()
                failed.dispose()

    def close(self) -> None:
        if self.pid == os.getpid():
            self.pool.dispose()

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Counts `amount` hits unless that makes more than `limit` within the last `expiry` seconds."""
        if amount > limit:
            return False
        self.prune_at_times()
        found = self.run(HIT, key=moving(key), limit=limit, expiry=expiry, amount=amount, now=time.time())
        return found is not None

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002
        """The time of the oldest hit within the window, and the number of hits."""
        now = time.time()
        oldest, hits = self.run(LOOK, key=moving(key), expiry=expiry, now=now) or (None, 0)
        return (oldest or now), hits

    def add_to_window(self, key: str, expiry: int, amount: int) -> tuple[int, float]:
        self.prune_at_times()
        window = self.run(COUNT, key=fixed(key), expiry=expiry, amount=amount, now=time.time()) or (0, 0.0)
        return int(window[0]), float(window[1])

    def check(self) -> bool:
        return self.run("SELECT 1") is not None

    def reset(self) -> int | None:
        self.run("DELETE FROM rate_limit_count")
        return None

    def remove_newest(self, key: str) -> None:
        """Take back the last hit of a moving window."""
        self.run("UPDATE rate_limit_count SET hits = hits[2:] WHERE key = %(key)s", key=moving(key))

    def clear(self, key: str) -> None:
        both = [moving(key), fixed(key)]
        self.run("DELETE FROM rate_limit_count WHERE key = ANY(%(keys)s)", keys=both)

    def prune_at_times(self) -> None:
        """Deletes expired windows, and those beyond MAX_ROWS, with every PRUNE_EVERY counts."""
        if next(self.written) % PRUNE_EVERY == 0:
            self.run(PRUNE, now=time.time(), rows=MAX_ROWS)


def moving(key: str) -> str:
    return f"m:{key}"


def fixed(key: str) -> str:
    return f"f:{key}"
