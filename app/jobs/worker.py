"""Worker: the loop of the process that runs beside the web processes.

One worker is active for a data directory. It ingests the journal without pause, and runs a table of small
duties in between. What may take long (deliveries, jobs) runs in threads, so that it does not hold up the
ingest. A second worker stands by until the first is gone.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from types import FrameType

from sqlalchemy import NullPool, create_engine

from app.analytics.ingest import Ingest
from app.analytics.upkeep import open_upkeep
from app.core.clock import now
from app.core.config import Settings
from app.core.database import engine_options, prepare_engine
from app.core.error_boundary import ErrorBoundary, flush_counts
from app.core.file_copies import remove_old_copies
from app.core.file_locks import lock_file
from app.core.patience import WORK
from app.core.poll_loop import FileWatch, Quiet, quiet_database, take_turns
from app.events.feed.sequencer import Sequencer
from app.events.push.pusher import EventPusher
from app.jobs.definitions import jobs_of
from app.jobs.favicons import FaviconFetcher
from app.jobs.mails import answer_forgotten, post_confirmations
from app.jobs.maintenance import WORKER_LOCK, beat, checkpoint, forget_heartbeat, prune_changes
from app.jobs.schedule import Scheduler
from app.jobs.subprocesses import Archiver, Importer
from app.journal.daily_salt import sweep_keys
from app.journal.segments import directory_of, list_segments
from app.journal.shared_salt import SaltSharer
from app.links.clicks import ClickCopies
from app.links.schedule_events import tell, tell_moments
from app.notifications.sender import Sender
from app.notifications.site import site_of
from app.rate_limit.limiter import RateLimiter

IDLE_SECONDS = 0.05
INGEST_SECONDS = 8.0  # a step of the ingest at least so often: upkeep, and the rest of a killed process
CHECKPOINT_SECONDS = 10.0
COPY_SECONDS = 0.5  # between two copies of clicks for the order of lists, each of some links
LOOK_SECONDS = 0.2  # between two looks at SQLite's files for the threads beside the ingest
LONGEST_IDLE = 0.2  # without visits: at 0.05 the polling alone took 7 % of a core
RETRY_SECONDS, LONGEST_RETRY = 1.0, 30.0
STAND_BY_SECONDS = 0.1  # between two looks whether the worker that is active on the same data has ended
UPKEEP_EVERY = 4  # steps, where the journal always has more
LAST_SECONDS = 1.5  # for the work of threads that is under way when the worker is asked to end


@dataclass
class Duty:
    """Something to run every so many seconds. It must be short: the ingest waits meanwhile."""

    name: str
    seconds: float
    run: Callable[[], object]
    due: float = 0.0


class Worker:
    """The worker's loop. A signal calls `end`; what is under way is finished first."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.data_dir = settings, settings.data_dir
        self.engine = create_engine(settings.database_url, poolclass=NullPool)
        prepare_engine(self.engine, settings, patience=WORK)
        self.journal, database = directory_of(self.data_dir), str(self.engine.url.database)
        self.database_files = [Path(database), Path(f"{database}-wal")]
        self.copies = ClickCopies(self.engine)
        self.ingest = Ingest(settings, self.copies.add)
        self.upkeep = open_upkeep(settings)
        self.ended = threading.Event()
        self.errors = ErrorBoundary(
            "worker", first_seconds=RETRY_SECONDS, max_seconds=LONGEST_RETRY, max_outages=inf
        )
        self.steps_in_a_row = 0
        self.quiet = Quiet(self.files_of_ingest, INGEST_SECONDS) if settings.is_sqlite else None
        self.quiet_log = quiet_database(self.engine, CHECKPOINT_SECONDS)
        self.duties = [
            Duty("heartbeat", 1, lambda: beat(settings.data_dir)),
            Duty("checkpoint", 1, self.checkpoint),
            Duty("clicks of lists", COPY_SECONDS, self.copies.step),
            Duty("changes of links", 60, lambda: prune_changes(self.engine)),
            Duty("visitors' keys", 60, lambda: sweep_keys(settings.data_dir, now())),
            Duty("copies of pictures", 600, lambda: remove_old_copies(settings.data_dir)),
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
        """Works until it is asked to end. Waits while another worker is active on the same data."""
        while not self.ended.is_set():
            with lock_file(self.data_dir / WORKER_LOCK) as is_ours:
                if is_ours:
                    self.work()
                    continue
            self.ended.wait(STAND_BY_SECONDS)

    def work(self) -> None:
        forget_heartbeat(self.data_dir)
        beside = WorkerThreads(self.settings)
        beside.start()
        try:
            take_turns(self.turn, self.ended.wait, self.ended, IDLE_SECONDS, LONGEST_IDLE)
            self.last_turns()
        finally:
            beside.stop()
            self.ingest.close()
            self.upkeep.close()

    def turn(self) -> bool:
        """Runs due duties, one step of the ingest, and at times one of the upkeep.

        Returns whether there may be more to do. The upkeep has its turn where the ingest has nothing to do,
        and after every UPKEEP_EVERY steps of it. A database that does not answer is waited for: the journal
        keeps the clicks.
        """
        self.see_to_duties(time.monotonic())
        if not self.steps_in_a_row and self.quiet and self.errors.run(None, self.quiet.is_quiet):
            return False
        has_moved = bool(self.errors.run("ingest", self.ingest.step))
        self.steps_in_a_row = self.steps_in_a_row + 1 if has_moved else 0
        if self.steps_in_a_row % UPKEEP_EVERY:
            return True
        return bool(self.errors.run("upkeep", self.upkeep.step, now())) or has_moved

    def files_of_ingest(self) -> list[Path]:
        """The files to which web processes write what the ingest reads: the journal, and `main.db` with the
        visits of limited links."""
        return [*(self.journal / name for name in list_segments(self.journal)), *self.database_files]

    def checkpoint(self) -> None:
        """Checkpoints main.db's log where anything was written to it; at times all the same, for a reader may
        have kept the last one from all of it."""
        if self.quiet_log is not None and not self.quiet_log.is_quiet():
            checkpoint(self.engine)

    def last_turns(self) -> None:
        """Ingests what the web processes have left, which ended before the worker, within a few seconds."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and self.errors.run("ingest", self.ingest.step):
            pass
        self.errors.run("counts of errors", flush_counts, self.data_dir)

    def see_to_duties(self, now: float) -> None:
        for duty in self.duties:
            if duty.due <= now:
                duty.due = now + duty.seconds
                self.errors.run(duty.name, duty.run)


class WorkerThreads:
    """All threads of the worker. They start when it becomes active, and stop when it ends."""

    def __init__(self, settings: Settings) -> None:
        self.engine = create_engine(settings.database_url, **engine_options(settings))
        prepare_engine(self.engine, settings, patience=WORK)
        site = site_of(settings)
        self.rate_limiter = RateLimiter(settings)
        feeds = {
            "starts and ends of links": tell_moments,
            "events": lambda session: tell(session, site),
            "forgotten passwords": lambda session: answer_forgotten(session, settings),
            "confirmations": lambda session: post_confirmations(session, settings, self.rate_limiter),
        }
        self.sender = Sender(self.engine, settings, feeds)
        self.scheduler = Scheduler(self.engine, settings, jobs_of(settings))
        self.importer = Importer(self.engine, settings)
        self.archiver = Archiver(self.engine, settings)
        self.favicons = FaviconFetcher(self.engine, settings)
        self.salts = SaltSharer(self.engine, settings)
        self.sequencer = Sequencer(self.engine, settings)
        self.pusher = EventPusher(self.engine, settings)
        loops = (
            self.importer,
            self.archiver,
            self.sender,
            self.scheduler,
            self.favicons,
            self.salts,
            self.sequencer,
            self.pusher,
        )
        self.threads = (*loops, FileWatch(LOOK_SECONDS, loops))

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Ends all threads. Work under way has LAST_SECONDS altogether; what takes longer is abandoned."""
        until = time.monotonic() + LAST_SECONDS
        for thread in self.threads:
            thread.end()
        for thread in self.threads:
            thread.stop(max(0.0, until - time.monotonic()))
        self.engine.dispose()
        self.rate_limiter.close()
