"""Metrics of an instance: what each is read from.

They are of the whole instance, whichever process answers: counters are summed over all processes of this
data directory, and all else is read from its files and from the database. Each group of figures is read by
itself: while the database is away, those that need it are left out, and `waypost_database_up` is 0.
"""

from __future__ import annotations

import logging
import platform
import sqlite3
import time
from collections.abc import Callable

from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError

from app.analytics.lag import JournalState, journal_state, limited_lag
from app.analytics.offsets import positions_in
from app.core import counters
from app.core.config import Settings
from app.core.counters import InstanceCounts
from app.core.database import AnySession
from app.core.error_boundary import read_counts
from app.core.extensions import db
from app.core.leases import is_due, is_free, precise_now
from app.core.machine import machine_id
from app.core.version import VERSION
from app.events.feed.waiting import count_drafts
from app.import_export.models import LinkImport
from app.jobs import maintenance
from app.jobs.backups import BACKUP, REHEARSAL, read_state
from app.jobs.schedule import OF_MACHINE, Job
from app.journal.persistent_value import Dropped
from app.journal.segments import directory_of
from app.notifications.models import NotificationHandler
from app.notifications.waiting import lag
from app.operations.exposition import MetricSample, Samples, histogram, render

log = logging.getLogger(__name__)

FAILURES = (SQLAlchemyError, sqlite3.Error, OSError)
UNDER_WAY = ("checking", "taking")  # imports


def render_metrics(settings: Settings) -> str:
    """All figures that can be read now, in Prometheus's text format."""
    is_up = is_database_up()
    samples: Samples = one("database_up", float(is_up))
    for group in (FILE_GROUPS + DATABASE_GROUPS) if is_up else FILE_GROUPS:
        samples |= read_group(group, settings)
    return render(samples)


def read_group(group: Callable[[Settings], Samples], settings: Settings) -> Samples:
    """The figures of a group; none where they can't be read, which is logged."""
    try:
        return group(settings)
    except FAILURES as error:
        log.warning("metrics: %s can't be read: %s", group.__name__, error)
        db.session.rollback()  # what follows must not fail for this
        return {}


def is_database_up() -> bool:
    try:
        db.session.execute(text("SELECT 1"))
    except FAILURES as error:
        log.warning("metrics: the database gives no answer: %s", error)
        db.session.rollback()
        return False
    return True


def one(name: str, value: float) -> Samples:
    return {name: [MetricSample(value)]}


# --- of files


def read_build(settings: Settings) -> Samples:
    database = "sqlite" if settings.is_sqlite else "postgresql"
    return {
        "build_info": [
            MetricSample(1, {"version": VERSION, "python": platform.python_version(), "database": database})
        ]
    }


def read_counters(settings: Settings) -> Samples:
    """What all processes have counted since the first start, or since an update changed what is counted."""
    counts = InstanceCounts(settings.data_dir)
    requests = [
        MetricSample(counts.get(f"requests {kind} {status}"), {"class": kind, "status": status})
        for kind in counters.REQUEST_CLASSES
        for status in counters.STATUS_CLASSES
    ]
    durations = [
        sample
        for kind in counters.REQUEST_CLASSES
        for sample in histogram(*counts.durations(kind), counters.BOUNDS, {"class": kind})
    ]
    return {
        "processes": labelled(counts, "kind", "processes", counters.PROCESS_KINDS),
        "requests_total": requests,
        "request_duration_seconds": durations,
        "delivery_attempts_total": labelled(counts, "result", "attempts", ("delivered", "failed")),
        "database_errors_total": labelled(counts, "kind", "database errors", ("outage", "statement")),
        **{name: [MetricSample(counts.get(cell))] for name, cell in SINGLE_COUNTS.items()},
        **one("database_wait_seconds_total", counts.get("database wait ns") / 1e9),
    }


def labelled(counts: InstanceCounts, label: str, name: str, values: tuple[str, ...]) -> list[MetricSample]:
    return [MetricSample(counts.get(f"{name} {value}"), {label: value}) for value in values]


# metric: its cell
SINGLE_COUNTS = {
    "link_cache_hits_total": "cache hits",
    "link_cache_misses_total": "cache misses",
    "database_connections_in_use": "connections in use",
    "database_connections_max": "connections at most",
    "database_checkouts_total": "database checkouts",
    "database_timeouts_total": "database timeouts",
}


def read_worker(settings: Settings) -> Samples:
    age = maintenance.heartbeat_age(settings.data_dir)
    return one("worker_age_seconds", float("inf") if age is None else age)


def read_worker_errors(settings: Settings) -> Samples:
    found = read_counts(settings.data_dir)
    return {
        "worker_errors_total": [
            MetricSample(number, {"loop": loop}) for loop, number in sorted(found.items())
        ]
    }


def read_dropped(settings: Settings) -> Samples:
    return one("visits_dropped", Dropped(directory_of(settings.data_dir)).read())


def read_wal(_settings: Settings) -> Samples:
    return one("wal_bytes", maintenance.wal_bytes(db.engine))


# --- of the database


def read_journal(settings: Settings) -> Samples:
    """How much of the journal waits to be read. How far it is read is stored in the database."""
    state = read_journal_state(settings, db.session)
    return {
        **one("journal_age_seconds", state.counters.seconds),
        **one("journal_rows_age_seconds", state.rows.seconds),
        **one("journal_waiting_bytes", state.rows.waiting_bytes),
        **one("journal_unknown_segments", len(state.unknown)),
    }


def read_journal_state(settings: Settings, session: AnySession) -> JournalState:
    positions = positions_in(session.connection())
    return journal_state(directory_of(settings.data_dir), positions, time.time())


def read_limited(_settings: Settings) -> Samples:
    limited = limited_lag(db.session(), time.time())
    return one("limited_waiting", limited.waiting) | one("limited_age_seconds", limited.seconds)


def read_deliveries(_settings: Settings) -> Samples:
    deliveries = lag(db.session)
    failing = NotificationHandler.failing_since.is_not(None) & NotificationHandler.is_enabled
    return {
        **one("deliveries_waiting", deliveries.waiting),
        **one("deliveries_age_seconds", deliveries.seconds),
        **one("handlers_failing", db.session.scalar(select(func.count()).where(failing)) or 0),
    }


def read_events(_settings: Settings) -> Samples:
    return one("events_waiting", count_drafts(db.session))


def read_jobs(settings: Settings) -> Samples:
    now = precise_now()
    # rows of a machine that is gone stay for weeks, and are due all the time
    machine = "" if settings.is_sqlite else machine_id(settings.data_dir)
    is_ours = Job.name.not_like(f"%{OF_MACHINE}%") | Job.name.endswith(f"{OF_MACHINE}{machine}")
    due = select(func.count(), func.min(Job.due)).where(is_due(Job, now), is_free(Job, now), is_ours)
    waiting, oldest = db.session.execute(due).one()
    imports = select(func.count()).where(LinkImport.state.in_(UNDER_WAY))
    return {
        **one("jobs_waiting", waiting),
        **one("jobs_age_seconds", max(0.0, (now - oldest).total_seconds()) if oldest else 0.0),
        **one("imports_waiting", db.session.scalar(imports) or 0),
    }


def read_backups(settings: Settings) -> Samples:
    """The last good backup and the last good rehearsal, where the settings name a place for them."""
    found: Samples = {}
    for kind in (BACKUP, REHEARSAL) if settings.backup_to else ():
        state = read_state(db.session, kind)
        succeeded = state.succeeded.timestamp() if state and state.succeeded else 0.0
        found |= one(f"{kind}_succeeded_timestamp_seconds", succeeded)
        found |= one(f"{kind}_failing", float(bool(state and state.failed)))
        if state and kind == BACKUP:
            found |= one("backup_bytes", state.size) | one("backup_duration_seconds", state.seconds)
    return found


FILE_GROUPS: tuple[Callable[[Settings], Samples], ...] = (
    read_build,
    read_counters,
    read_worker,
    read_worker_errors,
    read_dropped,
    read_wal,
)
DATABASE_GROUPS: tuple[Callable[[Settings], Samples], ...] = (
    read_journal,
    read_limited,
    read_deliveries,
    read_events,
    read_jobs,
    read_backups,
)
