"""Where do all processes of one machine count tries together, when there is no Redis?"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path

from limits.storage import Storage
from limits.storage.base import MovingWindowSupport

TABLES = """
CREATE TABLE IF NOT EXISTS hit (key TEXT NOT NULL, at REAL NOT NULL, expires REAL NOT NULL);
CREATE INDEX IF NOT EXISTS ix_hit_key_at ON hit (key, at);
CREATE INDEX IF NOT EXISTS ix_hit_expires ON hit (expires);
CREATE TABLE IF NOT EXISTS window (key TEXT PRIMARY KEY, count INTEGER NOT NULL, expires REAL NOT NULL);
"""

# one statement, and so right in all processes at once
COUNT = """
INSERT INTO window VALUES (:key, :amount, :now + :expiry) ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN expires <= :now THEN :amount ELSE count + :amount END,
    expires = CASE WHEN expires <= :now THEN excluded.expires ELSE expires END
RETURNING count
"""


class FileStorage(Storage, MovingWindowSupport):
    """A small SQLite file of hits, each a row until it expires, for the library's moving window.

    For its fixed window, which counts thousands, a row a key.

    One connection a process behind a lock: a try is rare beside the password hash that follows it.
    """

    STORAGE_SCHEME = None

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.lock = path, threading.Lock()
        self.connection: sqlite3.Connection | None = None
        self.pid = 0

    @property
    def base_exceptions(self) -> type[Exception]:
        return sqlite3.Error

    def opened(self) -> sqlite3.Connection:
        """This process's own connection: SQLite's must not be carried over a fork."""
        if self.connection is None or self.pid != os.getpid():
            self.connection, self.pid = self.prepared(), os.getpid()
        return self.connection

    def prepared(self) -> sqlite3.Connection:
        self.path.touch(mode=0o600)
        connection = sqlite3.connect(self.path, timeout=2, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")  # counts of minutes may be lost with the power
            connection.executescript(TABLES)
        except sqlite3.Error:
            connection.close()  # the next try begins anew
            raise
        return connection

    def close(self) -> None:
        with self.lock:
            if self.connection is not None and self.pid == os.getpid():
                self.connection.close()
            self.connection = None

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count `amount` hits unless that makes more than `limit` within the last `expiry` seconds."""
        with self.lock:
            connection, now = self.opened(), time.time()
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute("DELETE FROM hit WHERE expires <= ?", [now])
                allowed = self.count(connection, key, now - expiry) + amount <= limit
                rows = [(key, now, now + expiry)] * (amount if allowed else 0)
                connection.executemany("INSERT INTO hit VALUES (?, ?, ?)", rows)
            finally:
                connection.execute("COMMIT")
            return allowed

    @staticmethod
    def count(connection: sqlite3.Connection, key: str, since: float) -> int:
        found = connection.execute("SELECT count(*) FROM hit WHERE key = ? AND at > ?", [key, since])
        return int(found.fetchone()[0])

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002
        """When the oldest hit within the window was, and how many there are."""
        with self.lock:
            now = time.time()
            query = "SELECT min(at), count(*) FROM hit WHERE key = ? AND at > ?"
            oldest, count = self.opened().execute(query, [key, now - expiry]).fetchone()
        return (oldest or now), count

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count into the fixed window that is open, or open one of `expiry` seconds."""
        with self.lock:
            values = {"key": key, "amount": amount, "now": time.time(), "expiry": expiry}
            return int(self.opened().execute(COUNT, values).fetchone()[0])

    def get(self, key: str) -> int:
        return int(self.window(key)[0])

    def get_expiry(self, key: str) -> float:
        return self.window(key)[1]

    def window(self, key: str) -> tuple[int, float]:
        """How much is counted in the fixed window that is open, and when it ends."""
        with self.lock:
            query = "SELECT count, expires FROM window WHERE key = ? AND expires > ?"
            return self.opened().execute(query, [key, time.time()]).fetchone() or (0, time.time())

    def check(self) -> bool:
        with self.lock:
            return bool(self.opened().execute("SELECT 1").fetchone())

    def reset(self) -> int | None:
        with self.lock:
            return sum(self.opened().execute(f"DELETE FROM {table}").rowcount for table in ("hit", "window"))  # noqa: S608

    def clear(self, key: str) -> None:
        with self.lock:
            for table in ("hit", "window"):
                self.opened().execute(f"DELETE FROM {table} WHERE key = ?", [key])  # noqa: S608
