"""What must be seen to so that the databases stay small, and others know that a worker is there?"""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path

from sqlalchemy import Engine, delete, func, select

from app.clock import now
from app.links.models import PlanChange

KEPT_CHANGES = dt.timedelta(hours=1)
LARGE_WAL = 64 * 1024 * 1024


def heartbeat(data_dir: Path) -> Path:
    return data_dir / "worker.alive"


def beat(data_dir: Path) -> None:
    """Say that there is a worker: the file's time is when."""
    heartbeat(data_dir).touch()


def heartbeat_age(data_dir: Path) -> float | None:
    """Seconds since a worker last said that it is there; None if none ever did."""
    try:
        return max(0.0, time.time() - heartbeat(data_dir).stat().st_mtime)
    except FileNotFoundError:
        return None


def checkpoint(engine: Engine) -> None:
    """Bring main.db's log into it. Nobody else does: two at once can spoil a file before SQLite 3.51.3."""
    if engine.dialect.name != "sqlite":
        return
    mode = "TRUNCATE" if wal_bytes(engine) > LARGE_WAL else "PASSIVE"
    with engine.connect() as connection:
        connection.connection.cursor().execute(f"PRAGMA main.wal_checkpoint({mode})").fetchall()


def wal_bytes(engine: Engine) -> int:
    """How much waits in main.db's log; 0 where there is none."""
    path = Path(f"{engine.url.database}-wal")
    return path.stat().st_size if engine.dialect.name == "sqlite" and path.exists() else 0


def prune_changes(engine: Engine) -> None:
    """Forget changes that every process has seen long ago, but never the newest: it tells a process that
    slept whether it missed any."""
    newest = select(func.max(PlanChange.id)).scalar_subquery()
    old = delete(PlanChange).where(PlanChange.datetime < now() - KEPT_CHANGES, PlanChange.id < newest)
    with engine.connect().execution_options(sqlite_begin="IMMEDIATE") as connection, connection.begin():
        connection.execute(old)
