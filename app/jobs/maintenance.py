"""Maintenance by the worker: its heartbeat, checkpoints of SQLite's log, and pruning of old changes."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path

from sqlalchemy import Engine, delete, func, select

from app.core.clock import now
from app.core.database import WAIT_MILLISECONDS
from app.core.file_locks import is_held
from app.links.models import PlanChange

CHANGES_RETENTION = dt.timedelta(hours=1)
LARGE_WAL = 64 * 1024 * 1024
LONG_WAL = 4096  # pages, 16 MiB: what is added to the file's end takes longer to sync
WORKER_LOCK = "worker.lock"  # held by the active worker; others stand by


def heartbeat(data_dir: Path) -> Path:
    return data_dir / "worker.alive"


def beat(data_dir: Path) -> None:
    """Sets the time of the heartbeat file: the worker is alive."""
    heartbeat(data_dir).touch()


def heartbeat_age(data_dir: Path) -> float | None:
    """Seconds since the last heartbeat of the running worker; None where none runs, or it has made none yet.

    The file of a killed worker stays, and may be recent: only the lock shows that a worker is alive.
    """
    if not is_held(data_dir / WORKER_LOCK):
        return None
    try:
        return max(0.0, time.time() - heartbeat(data_dir).stat().st_mtime)
    except FileNotFoundError:
        return None


def forget_heartbeat(data_dir: Path) -> None:
    """Removes the heartbeat file of the previous worker."""
    heartbeat(data_dir).unlink(missing_ok=True)


def checkpoint(engine: Engine) -> None:
    """Checkpoints main.db's log. Only the worker does: two at once can spoil a file before SQLite 3.51.3.

    While others write without pause the log would only grow. So once it is long, writes wait for the rest of
    the checkpoint, and the next one begins the log anew in the space that it has.
    """
    if engine.dialect.name != "sqlite":
        return
    with engine.connect() as connection:
        cursor = connection.connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {WAIT_MILLISECONDS}")  # writes wait, too, for those who read
        ((_, pages, _),) = cursor.execute("PRAGMA main.wal_checkpoint(PASSIVE)").fetchall()
        if wal_bytes(engine) > LARGE_WAL:
            cursor.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()
        elif pages > LONG_WAL:
            cursor.execute("PRAGMA main.wal_checkpoint(RESTART)").fetchall()


def wal_bytes(engine: Engine) -> int:
    """Bytes in main.db's write-ahead log; 0 where there is none."""
    path = Path(f"{engine.url.database}-wal")
    return path.stat().st_size if engine.dialect.name == "sqlite" and path.exists() else 0


def prune_changes(engine: Engine) -> None:
    """Deletes changes that every process has seen long ago.

    The newest one stays: it shows a process that slept whether it missed any.
    """
    newest = select(func.max(PlanChange.id)).scalar_subquery()
    old = delete(PlanChange).where(PlanChange.datetime < now() - CHANGES_RETENTION, PlanChange.id < newest)
    with engine.connect().execution_options(sqlite_begin="IMMEDIATE") as connection, connection.begin():
        connection.execute(old)
