"""Counts of rate limits in a SQLite file, which all processes of a machine share."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path

from app.rate_limit.window_storage import WindowStorage

FILE = "rate_limits.db"  # in DATA_DIR
FORMER_FILE = "throttles.db"  # its counts of minutes are given up
BUSY_SECONDS = 2.0
LOOK_SECONDS = 0.005
BESIDE = ("", "-wal", "-shm")
TABLES = """
CREATE TABLE IF NOT EXISTS hit (key TEXT NOT NULL, at REAL NOT NULL, expires REAL NOT NULL);
CREATE INDEX IF NOT EXISTS ix_hit_key_at ON hit (key, at);
CREATE INDEX IF NOT EXISTS ix_hit_expires ON hit (expires);
CREATE TABLE IF NOT EXISTS window (key TEXT PRIMARY KEY, count INTEGER NOT NULL, expires REAL NOT NULL);
"""

# one statement, and so atomic across processes
COUNT = """
INSERT INTO window VALUES (:key, :amount, :now + :expiry) ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN expires <= :now THEN :amount ELSE count + :amount END,
    expires = CASE WHEN expires <= :now THEN excluded.expires ELSE expires END
RETURNING count, expires
"""


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a file to its write-ahead log. Raises sqlite3.OperationalError.

    SQLite waits for every other lock, but not for this one: of processes that open a new file at once, all
    but one may fail.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_SECONDS)
        else:
            return


class FileStorage(WindowStorage):
    """A small SQLite file of hits for the library's moving window, one row for each until it expires.

    For its fixed window, which counts thousands, it has one row for each key.

    Each process has one connection behind a lock: hits are rare and cheap beside the password hash that
    follows each.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.lock = path, threading.Lock()
        self.connection: sqlite3.Connection | None = None
        self.pid = 0

    @property
    def base_exceptions(self) -> type[Exception]:
        return sqlite3.Error

    def opened(self) -> sqlite3.Connection:
        """The connection of this process: SQLite's connections must not be carried over a fork."""
        if self.connection is None or self.pid != os.getpid():
            self.connection, self.pid = self.prepared(), os.getpid()
        return self.connection

    def prepared(self) -> sqlite3.Connection:
        for suffix in BESIDE:
            self.path.with_name(FORMER_FILE + suffix).unlink(missing_ok=True)
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self.path.chmod(0o600)  # SQLite gives the files beside it the same mode
            use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous = OFF")  # a power cut may lose counts of the last minutes
            connection.executescript(TABLES)
        except (sqlite3.Error, OSError):
            connection.close()  # the next try begins anew
            raise
        return connection

    def close(self) -> None:
        with self.lock:
            if self.connection is not None and self.pid == os.getpid():
                self.connection.close()
            self.connection = None

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Counts `amount` hits unless that makes more than `limit` within the last `expiry` seconds."""
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
        """The time of the oldest hit within the window, and the number of hits."""
        with self.lock:
            now = time.time()
            query = "SELECT min(at), count(*) FROM hit WHERE key = ? AND at > ?"
            oldest, count = self.opened().execute(query, [key, now - expiry]).fetchone()
        return (oldest or now), count

    def add_to_window(self, key: str, expiry: int, amount: int) -> tuple[int, float]:
        values = {"key": key, "amount": amount, "now": time.time(), "expiry": expiry}
        with self.lock:
            count, expires = self.opened().execute(COUNT, values).fetchone()
        return int(count), float(expires)

    def check(self) -> bool:
        with self.lock:
            return bool(self.opened().execute("SELECT 1").fetchone())

    def reset(self) -> int | None:
        with self.lock:
            return sum(self.opened().execute(f"DELETE FROM {table}").rowcount for table in ("hit", "window"))  # noqa: S608

    def remove_newest(self, key: str) -> None:
        """Take back the last hit of a moving window."""
        newest = "SELECT rowid FROM hit WHERE key = ? ORDER BY at DESC LIMIT 1"
        with self.lock:
            self.opened().execute(f"DELETE FROM hit WHERE rowid = ({newest})", [key])  # noqa: S608

    def clear(self, key: str) -> None:
        with self.lock:
            for table in ("hit", "window"):
                self.opened().execute(f"DELETE FROM {table} WHERE key = ?", [key])  # noqa: S608
