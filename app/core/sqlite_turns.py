"""Beginnings of transactions on SQLite: a write begins as soon as the one before has ended.

SQLite's own waiting looks again after pauses that grow to 100 ms. A process that waits so hardly gets a turn
between the short writes of another one, and has nothing to do meanwhile.
"""

# see docs/decisions/2026-11-25-processor-time-of-requests.md
from __future__ import annotations

import sqlite3
import threading
import time
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import Connection

TURN_SECONDS = 0.0002  # between two looks whether another write has ended, which takes a millisecond or so


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
