"""What runs beside the web processes, and how often?

One worker for a data directory: it takes in the journal without pause, and sees to a table of small duties
in between. A second one stands by until the first is gone.
"""

from __future__ import annotations

import datetime as dt
import logging
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from sqlalchemy import Engine, NullPool, create_engine, delete, func, select
from sqlalchemy.exc import SQLAlchemyError

from app.clicks.ingest import Ingest
from app.clicks.upkeep import Upkeep
from app.clock import now
from app.config import Settings
from app.database import prepare_engine
from app.journal.segments import lock
from app.journal.visitor_keys import sweep_keys
from app.links.emptying import purge
from app.links.models import PlanChange

IDLE_SECONDS = 0.05
RETRY_SECONDS = 1.0
KEPT_CHANGES = dt.timedelta(hours=1)
LARGE_WAL = 64 * 1024 * 1024

log = logging.getLogger(__name__)


@dataclass
class Duty:
    """Something to do every so often. It must be short: the journal waits meanwhile."""

    name: str
    seconds: float
    run: Callable[[], object]
    due: float = 0.0


class Worker:
    """The loop. `end` is asked for by a signal; what is under way is finished first."""

    def __init__(self, settings: Settings) -> None:
        self.data_dir = settings.data_dir
        self.engine = create_engine(settings.database_url, poolclass=NullPool)
        prepare_engine(self.engine, settings)
        self.ingest = Ingest(settings)
        self.upkeep = Upkeep(settings)
        self.ended = threading.Event()
        self.duties = [
            Duty("heartbeat", 1, lambda: beat(settings.data_dir)),
            Duty("checkpoint", 1, lambda: checkpoint(self.engine)),
            Duty("changes of plans", 60, lambda: prune_changes(self.engine)),
            Duty("trash", 600, lambda: purge(self.engine)),
            Duty("visitors' keys", 60, lambda: sweep_keys(settings.data_dir, now())),
        ]

    def end(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        self.ended.set()

    def end_at(self, *numbers: signal.Signals) -> None:
        for number in numbers:
            signal.signal(number, self.end)

    def ignore(self, *numbers: signal.Signals) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    def run(self) -> None:
        """Work until the end is asked for, once no other worker does on the same data."""
        while not self.ended.is_set():
            with lock(self.data_dir / "worker.lock") as is_ours:
                if is_ours:
                    self.work()
                else:
                    self.ended.wait(RETRY_SECONDS)

    def work(self) -> None:
        try:
            while not self.ended.is_set():
                if not self.turn():
                    self.ended.wait(IDLE_SECONDS)
            self.last_turns()
        finally:
            self.ingest.close()
            self.upkeep.close()

    def turn(self) -> bool:
        """What is due, and one step of the journal; whether there may be more. A database that does not
        answer is waited for: the journal keeps what was counted."""
        try:
            self.see_to_duties(time.monotonic())
            return bool(self.ingest.step()) or self.upkeep.step(now())
        except (SQLAlchemyError, OSError) as error:
            log.warning("The worker waits: %s", str(error).splitlines()[0])
            self.ended.wait(RETRY_SECONDS)
            return False

    def last_turns(self) -> None:
        """The web processes have ended before us: take in what they left, within a few seconds."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and self.ingest.step():
            pass

    def see_to_duties(self, now: float) -> None:
        for duty in self.duties:
            if duty.due <= now:
                duty.due = now + duty.seconds
                duty.run()


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
