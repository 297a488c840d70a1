"""Metrics of an instance in Prometheus's text format.

Each group of figures is read by itself: while the database is away, those that need it are left out, and
`waypost_database_up` is 0.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.analytics.lag import JournalState, journal_state
from app.analytics.limited_lag import limited_lag
from app.analytics.offsets import positions_in
from app.core.config import Settings
from app.core.error_boundary import read_counts
from app.core.extensions import db
from app.jobs import maintenance
from app.journal.persistent_value import Dropped
from app.journal.segments import directory_of
from app.notifications.waiting import lag

log = logging.getLogger(__name__)

Gauges = dict[str, float]
FAILURES = (SQLAlchemyError, sqlite3.Error, OSError)


def render_metrics(settings: Settings) -> str:
    """All figures that can be read now, in Prometheus's text format."""
    is_up = is_database_up()
    gauges: Gauges = {"waypost_database_up": float(is_up)}
    for group in (FILE_GROUPS + DATABASE_GROUPS) if is_up else FILE_GROUPS:
        gauges |= read_group(group, settings)
    lines = [f"# TYPE {name} gauge\n{name} {value:g}\n" for name, value in gauges.items()]
    return "".join(lines + render_worker_errors(settings))


def read_group(group: Callable[[Settings], Gauges], settings: Settings) -> Gauges:
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


def read_worker(settings: Settings) -> Gauges:
    age = maintenance.heartbeat_age(settings.data_dir)
    return {"waypost_worker_age_seconds": float("inf") if age is None else age}


def read_dropped(settings: Settings) -> Gauges:
    return {"waypost_visits_dropped": Dropped(directory_of(settings.data_dir)).read()}


def read_wal(_settings: Settings) -> Gauges:
    return {"waypost_wal_bytes": maintenance.wal_bytes(db.engine)}


def read_journal(settings: Settings) -> Gauges:
    """How much of the journal waits to be read. How far it is read is stored in the database."""
    state = read_journal_state(settings)
    return {
        "waypost_journal_age_seconds": state.counters.seconds,
        "waypost_journal_rows_age_seconds": state.rows.seconds,
        "waypost_journal_waiting_bytes": state.rows.waiting_bytes,
    }


def read_limited(_settings: Settings) -> Gauges:
    limited = limited_lag(db.session(), time.time())
    return {"waypost_limited_waiting": limited.waiting, "waypost_limited_age_seconds": limited.seconds}


def read_deliveries(_settings: Settings) -> Gauges:
    deliveries = lag(db.session)
    return {
        "waypost_deliveries_waiting": deliveries.waiting,
        "waypost_deliveries_age_seconds": deliveries.seconds,
    }


FILE_GROUPS: tuple[Callable[[Settings], Gauges], ...] = (read_worker, read_dropped, read_wal)
DATABASE_GROUPS: tuple[Callable[[Settings], Gauges], ...] = (read_journal, read_limited, read_deliveries)


def read_journal_state(settings: Settings) -> JournalState:
    return journal_state(directory_of(settings.data_dir), positions_in(db.session()), time.time())


def render_worker_errors(settings: Settings) -> list[str]:
    """The counter of errors in each loop of the worker."""
    name, found = "waypost_worker_errors_total", read_counts(settings.data_dir)
    return [
        f"# TYPE {name} counter\n",
        *(f'{name}{{loop="{loop}"}} {number}\n' for loop, number in sorted(found.items())),
    ]
