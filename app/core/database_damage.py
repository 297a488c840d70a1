"""Remembers that a query met a damaged database, for `/readyz` of every process.

Reading a large database whole at each health check would cost too much: a check reads a part of it, and every
error that another query meets is noted in a file. (docs/decisions/2026-11-22-readiness.md)
"""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext

from app.core.read_only import is_read_only

FILE = "database-damage"
REMEMBERED_SECONDS = 600.0
WHOLE_BYTES = 4 * 1024 * 1024  # a file up to this size is read whole: some ten milliseconds
BUSY_SECONDS = 1.0
SQLITE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
SQLSTATES = frozenset({"XX001", "XX002"})  # PostgreSQL's data_corrupted and index_corrupted

log = logging.getLogger(__name__)


def is_damage(error: BaseException) -> bool:
    """Whether the database's driver says that the stored data are damaged."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in SQLITE_CODES
    return getattr(error, "sqlstate", None) in SQLSTATES


def watch_engine(engine: Engine, data_dir: Path) -> None:
    """Note each damage that a query of this engine meets."""

    @event.listens_for(engine, "handle_error")
    def note(context: ExceptionContext) -> None:
        if not is_read_only(engine):
            note_damage(context.original_exception, data_dir)


def note_damage(error: BaseException, data_dir: Path) -> None:
    """Leave a note for all processes if the error says that the database is damaged."""
    if not is_damage(error):
        return
    log.error("The database is damaged: %s", str(error).partition("\n")[0])
    try:
        (data_dir / FILE).touch(mode=0o600)
    except OSError as failed:
        log.warning("The damage can't be recorded for other processes: %s", failed)


def is_damage_noted(data_dir: Path) -> bool:
    """Whether a query met damage in the last minutes."""
    with suppress(FileNotFoundError):
        return time.time() - (data_dir / FILE).stat().st_mtime < REMEMBERED_SECONDS
    return False


def forget_damage(data_dir: Path) -> None:
    """Remove the note: another database is in place."""
    (data_dir / FILE).unlink(missing_ok=True)


def is_file_damaged(path: Path) -> bool:
    """Whether reading a SQLite file finds damage: of a large one only both ends of each table are read.

    Opens the file anew, for an open connection answers from its cache. Raises sqlite3.Error where the file
    can't be opened.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as connection:
            if count_bytes(connection) <= WHOLE_BYTES:
                return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok")
            read_ends(connection)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return True
    return False


def count_bytes(connection: sqlite3.Connection) -> int:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    return int(pages * connection.execute("PRAGMA page_size").fetchone()[0])


def read_ends(connection: sqlite3.Connection) -> None:
    """Read the first and the last row of each table; of one without row ids, the first."""
    for _, name, kind, _, is_without_rowid, _ in connection.execute("PRAGMA main.table_list").fetchall():
        if kind == "table":
            for order in [""] if is_without_rowid else ["ORDER BY rowid", "ORDER BY rowid DESC"]:
                connection.execute(f'SELECT * FROM "{name}" {order} LIMIT 1').fetchall()  # noqa: S608
