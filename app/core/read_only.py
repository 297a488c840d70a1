"""Reads SQLite's files without changing them or the files beside them.

An ordinary connection to a file with a write-ahead log makes the log and its index where they are missing,
and the last connection that closes brings the log into the file. A command that only looks must do neither.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.orm import Session, scoped_session

from app.core.file_locks import is_held
from app.core.running_address import LOCK

LOCKS = (LOCK, "worker.lock")


@contextmanager
def reading_only(session: Session | scoped_session[Any], engine: Engine) -> Iterator[None]:
    """Makes every connection of this engine read-only while the context is open."""
    renew_connections(session, engine, read_only=True)
    try:
        yield
    finally:
        renew_connections(session, engine, read_only=False)


def renew_connections(session: Session | scoped_session[Any], engine: Engine, *, read_only: bool) -> None:
    session.rollback()  # its connection was opened with the other mode
    engine.dispose()
    engine.update_execution_options(read_only=read_only)


def is_read_only(engine: Engine) -> bool:
    return bool(engine.get_execution_options().get("read_only"))


def watch_connections(engine: Engine, data_dir: Path) -> None:
    """Opens SQLite's file read-only while the engine is set to that."""

    @event.listens_for(engine, "do_connect")
    def connect(*_arguments: Any) -> sqlite3.Connection | None:
        if not is_read_only(engine):
            return None  # SQLAlchemy connects as usual
        address = address_of(Path(engine.url.database or ""), data_dir)
        return sqlite3.connect(address, uri=True, check_same_thread=False)


def address_of(path: Path, data_dir: Path) -> str:
    """The URI by which a file is read without changing anything.

    Where no process has it open, a log is read with an index in memory, and a file without a log as one that
    does not change. For a log without an index (as in a copy) SQLite makes one.
    """
    log, index = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))
    how = ""
    if not any(is_held(data_dir / name, shared=True) for name in LOCKS):
        if not log.exists() or not log.stat().st_size:
            how = "&immutable=1"
        elif index.exists():
            how = "&readonly_shm=1"
    return f"{path.absolute().as_uri()}?mode=ro{how}"
