"""Scheduler: runs jobs at their times, each once, also with several workers and after a kill.

A job's row says when it is due. The worker that takes it holds a lease and renews it while the job runs. The
next due time is written in the job's last transaction, together with what the job has not committed yet.
"""

from __future__ import annotations

import datetime as dt
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from croniter import croniter
from sqlalchemy import Engine, String, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.config import Settings
from app.core.database import Id, begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.extensions import db
from app.core.leases import LEASE, Claimed, claim, is_due, is_free, precise_now
from app.core.machine import machine_id
from app.core.poll_loop import PollLoop, quiet_database
from app.core.tracing import tracing

POLL_SECONDS = 0.5
DUE_SECONDS = 5.0  # a job begins so late at most
RENEW_SECONDS = 10
RETRY_SECONDS = 60.0
OF_MACHINE = " @ "  # between the name of a job and its machine
GONE = dt.timedelta(days=60)
MAX_CONCURRENT = 3  # a long job, such as a download, must not keep the others waiting


class Job(Claimed, db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """One job by its name. `cron`: the times at which it is due, in UTC."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    cron: Mapped[str] = mapped_column(String(64))


@dataclass(frozen=True)
class Scheduled:
    """A job and its times.

    `run` may commit as often as it likes: after a kill it is called again, and must find what is left to do
    by what is stored. It holds no transaction open while anything takes long.

    `is_of_machine`: it sees to files in DATA_DIR, so each of several machines runs it.

    `retry_seconds`: after a failure it is due again so soon, and later where it fails again and again.
    """

    name: str
    cron: str
    run: Callable[[Session, Settings], object]
    is_of_machine: bool = False
    retry_seconds: float = RETRY_SECONDS

    def row_name(self, machine: str) -> str:
        """The name of its row for a worker of this machine."""
        return f"{self.name}{OF_MACHINE}{machine}" if self.is_of_machine and machine else self.name


def next_time(cron: str, after: dt.datetime) -> dt.datetime:
    found: dt.datetime = croniter(cron, after).get_next(dt.datetime)
    return found


class Scheduler(PollLoop):
    """Runs the jobs that are due, each in a thread of its own."""

    def __init__(self, engine: Engine, settings: Settings, table: Sequence[Scheduled]) -> None:
        errors = ErrorBoundary("scheduler", max_outages=inf)
        super().__init__("scheduler", POLL_SECONDS, errors, quiet=quiet_database(engine, DUE_SECONDS))
        self.engine, self.settings = engine, settings
        # with SQLite there is one machine
        machine = "" if settings.is_sqlite else machine_id(settings.data_dir)
        self.table = {job.row_name(machine): job for job in table}
        self.who = secrets.token_hex(8)
        self.running: dict[int, threading.Thread] = {}
        self.is_registered = False
        self.errors = ErrorBoundary("jobs", first_seconds=RETRY_SECONDS, max_outages=inf)

    def turn(self) -> None:
        """Renews leases of running jobs and starts due ones. One that can't start is free after its lease."""
        self.is_registered = self.is_registered or register(self.engine, self.table)
        self.running = {id_: thread for id_, thread in self.running.items() if thread.is_alive()}
        with Session(self.engine) as session:
            self.renew(session)
            for id_, name in self.take(session):
                thread = threading.Thread(
                    target=self.work, args=(id_, self.table[name]), name=name, daemon=True
                )
                with self.errors.attempt(name):
                    thread.start()
                    self.running[id_] = thread

    def renew(self, session: Session) -> None:
        now = precise_now()
        late = select(Job.id).where(
            Job.who == self.who, Job.lease < now + LEASE - dt.timedelta(seconds=RENEW_SECONDS)
        )
        ids = [id_ for id_ in session.scalars(late) if id_ in self.running]
        if ids:
            begin_write(session)
            session.execute(update(Job).where(Job.id.in_(ids), Job.who == self.who).values(lease=now + LEASE))
            session.commit()

    def take(self, session: Session) -> list[tuple[int, str]]:
        now = precise_now()
        due = (
            select(Job.id, Job.name)
            .where(Job.name.in_(self.table), is_due(Job, now), is_free(Job, now))
            .order_by(Job.due)
        )
        found = {id_: name for id_, name in session.execute(due) if id_ not in self.running}
        wanted = list(found)[: MAX_CONCURRENT - len(self.running)]
        if not wanted:
            return []
        begin_write(session)
        taken = claim(session, Job, wanted, self.who, now)
        session.commit()
        return [(id_, found[id_]) for id_ in taken]

    def work(self, id_: int, job: Scheduled) -> None:
        """Runs a job once. One that failed is logged, and due again soon."""
        with Session(self.engine) as session:
            with self.errors.attempt(job.name) as made, tracing.span(f"job {job.name}", {}):
                job.run(session, self.settings)
                self.finish(session, id_, next_time(job.cron, precise_now()))
            if made.error is not None:
                seconds = max(made.seconds, job.retry_seconds)
                with self.turn_errors.attempt():
                    session.rollback()
                    self.finish(session, id_, precise_now() + dt.timedelta(seconds=seconds))

    def finish(self, session: Session, id_: int, due: dt.datetime) -> None:
        """Writes the next due time and commits it with what the job left uncommitted.

        Rolls back if the lease was lost.
        """
        if not session.in_transaction():
            begin_write(session)
        done = update(Job).where(Job.id == id_, Job.who == self.who)
        found = session.scalars(
            done.values(due=due, planned=precise_now(), lease=None, who=None).returning(Job.id)
        )
        if found.first() is None:
            session.rollback()
        else:
            session.commit()

    def stop(self, seconds: float | None = 0.0) -> None:
        """Starts no more jobs, and waits for running ones. The next worker repeats those that take longer."""
        until = time.monotonic() + (seconds or 0.0)
        super().stop(seconds)
        for thread in self.running.values():
            thread.join(max(0.0, until - time.monotonic()))


def register(engine: Engine, table: Mapping[str, Scheduled]) -> bool:
    """Makes a row for each job. One that is new, or whose times have changed, waits for its next time.

    Removes those of machines that have not run theirs for long.
    """
    with Session(engine) as session:
        begin_write(session)
        gone = Job.name.contains(OF_MACHINE, autoescape=True), Job.due < precise_now() - GONE
        session.execute(delete(Job).where(*gone, Job.name.not_in(list(table))))
        rows = {row.name: row for row in session.scalars(select(Job))}
        for name, job in table.items():
            row = rows.get(name)
            if row is None:
                session.add(Job(name=name, cron=job.cron, due=next_time(job.cron, precise_now())))
            elif row.cron != job.cron:
                row.cron, row.due, row.planned = job.cron, next_time(job.cron, precise_now()), precise_now()
        try:
            session.commit()
        except IntegrityError:
            return False  # another worker has just done so
    return True
