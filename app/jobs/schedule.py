"""What runs when, and how does each run happen once, whoever is killed and however many workers there are?

A job's row says when it is due. Whoever claims it holds a lease and renews it while the job runs; the next
time it is due is written in the transaction that the job ends with, together with what that still holds.
"""

from __future__ import annotations

import datetime as dt
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import inf

from croniter import croniter
from sqlalchemy import Engine, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.claims import LEASE, claim, is_due, is_free, moment
from app.config import Settings
from app.database import begin_write
from app.error_boundary import ErrorBoundary
from app.jobs.models import Job

POLL_SECONDS = 0.5
RENEW_SECONDS = 10
RETRY_SECONDS = 60.0
AT_ONCE = 3  # a long one, as a download, must not keep the others waiting


@dataclass(frozen=True)
class Scheduled:
    """A job and its times. `run` may commit as often as it likes: after a kill it is called again, and must
    find by what is stored what is left to do. It holds no transaction open while anything takes long."""

    name: str
    cron: str
    run: Callable[[Session, Settings], object]


def next_time(cron: str, after: dt.datetime) -> dt.datetime:
    found: dt.datetime = croniter(cron, after).get_next(dt.datetime)
    return found


class Scheduler(threading.Thread):
    """Runs what is due, each job in a thread of its own."""

    def __init__(self, engine: Engine, settings: Settings, table: Sequence[Scheduled]) -> None:
        super().__init__(name="scheduler", daemon=True)
        self.engine, self.settings = engine, settings
        self.table = {job.name: job for job in table}
        self.who = secrets.token_hex(8)
        self.running: dict[int, threading.Thread] = {}
        self.ended = threading.Event()
        self.steps = ErrorBoundary("scheduler", max_outages=inf)
        self.errors = ErrorBoundary("jobs", first_seconds=RETRY_SECONDS, max_outages=inf)

    def run(self) -> None:
        is_registered = False
        while not self.ended.is_set():
            with self.steps.attempt():
                is_registered = is_registered or register(self.engine, list(self.table.values()))
                self.turn()
            self.ended.wait(POLL_SECONDS)

    def turn(self) -> None:
        """Renew what runs, and start what is due. One that can't be started is free when its lease ends."""
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
        now = moment()
        late = select(Job.id).where(
            Job.who == self.who, Job.lease < now + LEASE - dt.timedelta(seconds=RENEW_SECONDS)
        )
        ids = [id_ for id_ in session.scalars(late) if id_ in self.running]
        if ids:
            begin_write(session)
            session.execute(update(Job).where(Job.id.in_(ids), Job.who == self.who).values(lease=now + LEASE))
            session.commit()

    def take(self, session: Session) -> list[tuple[int, str]]:
        now = moment()
        due = (
            select(Job.id, Job.name)
            .where(Job.name.in_(self.table), is_due(Job, now), is_free(Job, now))
            .order_by(Job.due)
        )
        found = {id_: name for id_, name in session.execute(due) if id_ not in self.running}
        wanted = list(found)[: AT_ONCE - len(self.running)]
        if not wanted:
            return []
        begin_write(session)
        taken = claim(session, Job, wanted, self.who, now)
        session.commit()
        return [(id_, found[id_]) for id_ in taken]

    def work(self, id_: int, job: Scheduled) -> None:
        """One run. What went wrong is said, and tried again soon."""
        with Session(self.engine) as session:
            with self.errors.attempt(job.name) as made:
                job.run(session, self.settings)
                self.finish(session, id_, next_time(job.cron, moment()))
            if made.error is not None:
                seconds = max(made.seconds, RETRY_SECONDS)
                with self.steps.attempt():
                    session.rollback()
                    self.finish(session, id_, moment() + dt.timedelta(seconds=seconds))

    def finish(self, session: Session, id_: int, due: dt.datetime) -> None:
        """With what the job left uncommitted. One whose lease another worker has by now comes to nothing."""
        if not session.in_transaction():
            begin_write(session)
        done = update(Job).where(Job.id == id_, Job.who == self.who)
        found = session.scalars(
            done.values(due=due, planned=moment(), lease=None, who=None).returning(Job.id)
        )
        if found.first() is None:
            session.rollback()
        else:
            session.commit()

    def stop(self, seconds: float) -> None:
        self.ended.set()
        self.join(seconds)
        for thread in self.running.values():
            thread.join(seconds / max(1, len(self.running)))


def register(engine: Engine, table: Collection[Scheduled]) -> bool:
    """Have a row for each job. One that is new, or has other times than before, waits for its next one."""
    with Session(engine) as session:
        begin_write(session)
        rows = {row.name: row for row in session.scalars(select(Job))}
        for job in table:
            row = rows.get(job.name)
            if row is None:
                session.add(Job(name=job.name, cron=job.cron, due=next_time(job.cron, moment())))
            elif row.cron != job.cron:
                row.cron, row.due, row.planned = job.cron, next_time(job.cron, moment()), moment()
        try:
            session.commit()
        except IntegrityError:
            return False  # another worker has just done so
    return True
