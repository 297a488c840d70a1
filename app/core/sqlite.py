"""Connections to SQLite: how each is prepared, and how a write begins as soon as the one before has ended.

SQLite's own waiting looks again after pauses that grow to 100 ms. A process that waits so hardly gets a turn
between the short writes of another one, and has nothing to do meanwhile.
"""

# see docs/decisions/2026-11-25-processor-time-of-requests.md
from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.pool import ConnectionPoolEntry

from app.core.read_only import address_of, is_read_only, watch_connections

BUSY_SECONDS = 10
TURN_SECONDS = 0.0002  # between two looks whether another write has ended, which takes a millisecond or so


def prepare_sqlite(engine: Engine, data_dir: Path, clicks_file: Path, clicks_mode: str) -> None:
    """Attach `clicks.db` to each new connection. Writes take turns, and are on disk once committed."""
    watch_connections(engine, data_dir)
    clicks = f"{clicks_file.absolute().as_uri()}?mode={clicks_mode}"

    @event.listens_for(engine, "connect")
    def connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver's own BEGIN is neither immediate nor around DDL
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        connection.create_function("lower", 1, lower, deterministic=True)  # SQLite's own knows ASCII only
        if is_read_only(engine):
            connection.execute("ATTACH DATABASE ? AS clicks", (address_of(clicks_file, data_dir),))
            return
        connection.execute("ATTACH DATABASE ? AS clicks", (clicks,))
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA main.journal_mode = WAL")
        if clicks_mode != "ro":
            connection.execute("PRAGMA clicks.journal_mode = WAL")
        connection.execute("PRAGMA main.synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # the worker alone checkpoints

    begin_in_turns(engine, BUSY_SECONDS)


def lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def begin_in_turns(engine: Engine, busy_seconds: int) -> None:
    """Have each transaction begin with `BEGIN`, or as its option `sqlite_begin` says.

    One with that option waits for its turn, at most `busy_seconds`.
    """
    turn = threading.Lock()  # one thread of a process looks, and others wait for it

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        mode = connection.get_execution_options().get("sqlite_begin")
        driver: Any = connection.connection.driver_connection
        if not mode:
            driver.execute("BEGIN")  # it touches no file, and begins every read: past SQLAlchemy
            return
        driver.execute("PRAGMA busy_timeout = 0")
        try:
            if not has_begun(driver, mode, turn, busy_seconds):
                connection.exec_driver_sql(f"BEGIN {mode}")  # fails as other statements do
        finally:
            driver.execute(f"PRAGMA busy_timeout = {busy_seconds * 1000}")


def has_begun(connection: sqlite3.Connection, mode: str, turn: threading.Lock, seconds: float) -> bool:
    """Begin a transaction when its turn has come; False if that takes too long, or SQLite can't begin any."""
    deadline = time.monotonic() + seconds
    if not turn.acquire(timeout=seconds):
        return False
    try:
        while time.monotonic() < deadline:
            try:
                connection.execute(f"BEGIN {mode}")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    return False
                time.sleep(TURN_SECONDS)
            else:
                return True
    finally:
        turn.release()
    return False
