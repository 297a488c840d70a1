"""What runs beside the web processes, and how often?

One worker for a data directory: it takes in the journal without pause, and sees to a table of small duties
in between. What may take long (deliveries, jobs) runs in threads beside. A second worker stands by until the
first is gone.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from types import FrameType

from sqlalchemy import NullPool, create_engine

from app.clicks.ingest import Ingest
from app.clicks.upkeep import Upkeep
from app.clock import now
from app.config import Settings
from app.database import prepare_engine
from app.error_boundary import ErrorBoundary, flush_counts
from app.jobs.beside import Beside
from app.jobs.tending import beat, checkpoint, prune_changes
from app.journal.segments import lock
from app.journal.visitor_keys import sweep_keys

IDLE_SECONDS = 0.05
LONGEST_IDLE = 0.2  # where nobody visits: at 0.05 the looking alone took 7 % of a core
RETRY_SECONDS, LONGEST_RETRY = 1.0, 30.0
UPKEEP_EVERY = 4  # steps of a journal that never runs dry


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
        self.settings, self.data_dir = settings, settings.data_dir
        self.engine = create_engine(settings.database_url, poolclass=NullPool)
        prepare_engine(self.engine, settings)
        self.ingest = Ingest(settings)
        self.upkeep = Upkeep(settings)
        self.ended = threading.Event()
        self.errors = ErrorBoundary(
            "worker", first_seconds=RETRY_SECONDS, max_seconds=LONGEST_RETRY, max_outages=inf
        )
        self.steps_in_a_row = 0
        self.duties = [
            Duty("heartbeat", 1, lambda: beat(settings.data_dir)),
            Duty("checkpoint", 1, lambda: checkpoint(self.engine)),
            Duty("changes of plans", 60, lambda: prune_changes(self.engine)),
            Duty("visitors' keys", 60, lambda: sweep_keys(settings.data_dir, now())),
            Duty("counts of errors", 1, lambda: flush_counts(settings.data_dir)),
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
        beside = Beside(self.settings)
        beside.start()
        try:
            pause = IDLE_SECONDS
            while not self.ended.is_set():
                if self.turn():
                    pause = IDLE_SECONDS
                else:
                    self.ended.wait(pause)
                    pause = min(2 * pause, LONGEST_IDLE)
            self.last_turns()
        finally:
            beside.stop()
            self.ingest.close()
            self.upkeep.close()

    def turn(self) -> bool:
        """What is due, one step of the journal, and where that leaves time, or has left none for long, one of
        the upkeep; whether there may be more. A database that does not answer is waited for: the journal
        keeps what was counted."""
        self.see_to_duties(time.monotonic())
        has_moved = bool(self.errors.run("ingest", self.ingest.step))
        self.steps_in_a_row = self.steps_in_a_row + 1 if has_moved else 0
        if self.steps_in_a_row % UPKEEP_EVERY:
            return True
        return bool(self.errors.run("upkeep", self.upkeep.step, now())) or has_moved

    def last_turns(self) -> None:
        """The web processes have ended before us: take in what they left, within a few seconds."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and self.errors.run("ingest", self.ingest.step):
            pass
        self.errors.run("counts of errors", flush_counts, self.data_dir)

    def see_to_duties(self, now: float) -> None:
        for duty in self.duties:
            if duty.due <= now:
                duty.due = now + duty.seconds
                self.errors.run(duty.name, duty.run)
