"""Health checks: the state of each part that the instance needs, in time whatever hangs.

A check that waits for a frozen server can't be ended from outside. So it goes on waiting in its thread, of
which there is one for each group of checks and no more, and is reported as unanswered meanwhile.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session

from app.analytics.lag import JournalState, limited_lag
from app.core.clock import format_utc
from app.core.database import AnySession, clicks_path, prepare_engine, takes_no_writes
from app.core.database_damage import is_damage_noted, is_file_damaged
from app.core.extensions import db
from app.core.patience import READINESS
from app.core.redis_client import ping, redis
from app.core.secret_keys.check import KeyState, compare_keys
from app.core.secret_keys.ring import current_keys
from app.jobs import maintenance
from app.journal import segments
from app.journal.segments import directory_of
from app.operations import database
from app.operations.metrics import read_journal_state
from app.operations.revisions import known_revisions, newest_revisions, replaced_revisions
from app.redirects.request_context import redirect_context
from app.web.application import settings

log = logging.getLogger(__name__)

WORKER_SECONDS = 15  # a worker writes a heartbeat every second; a long transaction may delay it
LAG_SECONDS = 60
DROPPED_SECONDS = 600

Check = dict[str, Any]


def run_check(name: str, session: AnySession) -> Check:
    """The result of a check; where it fails with an error, a result without internal details.

    The log has the details as a warning, which is not repeated at each call of a monitor.
    """
    try:
        return CHECKS[name](session)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        said = str(error.orig if isinstance(error, DBAPIError) else error).partition("\n")[0]
        log.warning("not ready: %s can't be looked at: %s", name, said)
        session.rollback()  # what follows must not fail for this
        return {"ok": False, "detail": "the storage gives no answer"}


def database_check(session: AnySession) -> Check:
    """Not ready where the database does not answer, accepts no writes, or is damaged."""
    found = settings()
    files = [Path(db.engine.url.database or ""), clicks_path(found)] if found.is_sqlite else []
    if is_damage_noted(found.data_dir) or any(map(is_file_damaged, files)):
        return {"ok": False, "detail": "the database is damaged: see `./waypost doctor`, or restore a backup"}
    if takes_no_writes(session, files):
        return {"ok": False, "detail": "the database can be read, but not be written to"}
    return {"ok": True}


def migrations_check(session: AnySession) -> Check:
    found = database.heads_of(session.connection())
    if found - known_revisions() - replaced_revisions():
        # migrated beside this process, before the restart (docs/upgrade.md)
        return {"ok": True, "detail": "a newer version has brought the tables up to date: restart"}
    is_current = found == newest_revisions()
    return {"ok": is_current, "detail": None if is_current else "the tables are of another version"}


def secret_key_check(session: AnySession) -> Check:
    """Not ready with a wrong secret key. The start refuses one, but the file may be replaced later."""
    state, _ = compare_keys(session, current_keys().all())
    if state in {KeyState.WRONG, KeyState.MISSING}:
        return {"ok": False, "detail": "not the secret key that the database needs: see `./waypost doctor`"}
    return {"ok": True, "rotating": state is KeyState.ROTATING}


def worker_check(_session: AnySession) -> Check:
    age = maintenance.heartbeat_age(settings().data_dir)
    if age is None:
        return {"ok": False, "detail": "no worker runs", "seconds": None}
    is_there = age < WORKER_SECONDS
    detail = None if is_there else f"the worker has not been heard of for {age:,.0f} s"
    return {"ok": is_there, "detail": detail, "seconds": round(age, 1)}


def journal_check(session: AnySession) -> Check:
    """Not ready while clicks wait for a minute or can't be written, or where some were dropped just now."""
    refusal = describe_refusal()
    try:
        state = read_journal_state(settings(), session)
    except OSError:
        if not refusal:
            raise
        return {"ok": False, "detail": refusal}
    detail = refusal or describe_journal(state)
    return {
        "ok": detail is None,
        "detail": detail,
        "seconds": round(state.counters.seconds, 1),
        "rows_seconds": round(state.rows.seconds, 1),
        "waiting_bytes": state.rows.waiting_bytes,
        "dropped": state.dropped,
        "in_memory": redirect_context().journal.kept_visits(),  # of this process
        "unknown_segments": len(state.unknown),
        "waits_for": state.waits_for or None,
    }


def describe_refusal() -> str:
    """Why nothing can be written to the journal; "" where it can."""
    try:
        segments.check_writable(directory_of(settings().data_dir))
    except OSError as error:
        return f"the journal can't be written to ({os.strerror(error.errno or errno.EIO)})"
    return ""


def describe_journal(state: JournalState) -> str | None:
    """What is wrong with the journal; None where nothing is."""
    if time.time() - state.last_dropped < DROPPED_SECONDS:
        return "visits could not be written and were dropped in the last minutes"
    if state.counters.seconds >= LAG_SECONDS:
        return "visits wait to be counted: see whether the worker runs"
    return None


def redis_check(_session: AnySession) -> Check:
    """Whether Redis answers, where it is set. Without it each machine counts rate limits alone."""
    url = settings().redis_url
    if url is None:
        return {"ok": True, "is_set": False}
    try:
        ping(url)
    except redis.RedisError as error:
        log.warning("Redis gives no answer: %s", error)
        return {"ok": False, "is_set": True, "detail": "Redis gives no answer, and REDIS_URL is set"}
    return {"ok": True, "is_set": True}


def limited_check(session: AnySession) -> Check:
    """How far behind the statistics of limited links are, which have their own queue.

    Their `clicks` are counted at once.
    """
    lag = limited_lag(session, time.time())
    is_late = lag.seconds >= LAG_SECONDS
    return {
        "ok": not is_late,
        "detail": "visits of limited links wait: see whether the worker runs" if is_late else None,
        "seconds": round(lag.seconds, 1),
        "waiting": lag.waiting,
        "unknown": lag.unknown,
    }


def log_check(_session: AnySession) -> Check:
    """The size of SQLite's write-ahead log, whose content is not in the database file yet."""
    return {"ok": True, "bytes": maintenance.wal_bytes(db.engine)}


PLACES = {
    "damaged": "the file of places is damaged and not used: fetch one with `flask geo update`",
    "checking": "the file of places is being read through, and used when it is whole",
}


def places_check(_session: AnySession) -> Check:
    """The state of the geolocation file. Always ready: redirects work without it."""
    status = redirect_context().geolocation.status
    said = status.attribution
    return {
        "ok": True,
        "state": status.state,
        "detail": PLACES.get(status.state),
        "kind": status.kind or None,
        "built": status.built and format_utc(status.built),
        "failed": status.failed,
        "attribution": said and f"{said.text} ({said.url})",
    }


CHECKS: dict[str, Callable[[AnySession], Check]] = {
    "database": database_check,
    "migrations": migrations_check,
    "secret_key": secret_key_check,
    "worker": worker_check,
    "journal": journal_check,
    "limited": limited_check,
    "redis": redis_check,
    "wal": log_check,
    "places": places_check,
}

UNANSWERED: Check = {"ok": False, "detail": "no answer"}
# those of a group run one after the other, and a group that hangs delays no other
GROUPS = {
    "database": ("database", "migrations", "secret_key", "journal", "limited"),
    "redis": ("redis",),
    "files": ("worker", "wal", "places"),
}


def open_session() -> Session:
    """A session for health checks alone: pages may hold every connection of their pool meanwhile."""
    if db.engine.dialect.name != "postgresql":
        return Session(db.engine)
    engine = create_engine(db.engine.url, poolclass=NullPool)
    prepare_engine(engine, settings(), patience=READINESS)
    return Session(engine)


def run_group(names: Sequence[str], found: dict[str, Check]) -> None:
    """Runs checks one after the other, and adds each result to `found` as it comes."""
    with open_session() as session:
        for name in names:
            found[name] = run_check(name, session)


Found = dict[str, Any]
Group = Callable[[Found], None]

ANSWER_SECONDS = 1.2  # of the two seconds in which `/readyz` answers


class CheckRun(threading.Thread):
    """One run of a group. `found` fills as its checks end. An error that a check does not report is logged by
    the thread, and leaves it and the rest of its group without a result."""

    def __init__(self, name: str, group: Group) -> None:
        super().__init__(name=f"checks: {name}", daemon=True)
        self.group = group
        self.found: Found = {}
        self.began = time.monotonic()

    def run(self) -> None:
        self.group(self.found)

    def wait(self) -> Found:
        """What is found until ANSWER_SECONDS after the begin of this run."""
        self.join(max(0.0, self.began + ANSWER_SECONDS - time.monotonic()))
        return dict(self.found)


class BoundedChecks:
    """Groups of checks by name. Those that ask while a run is under way share it. Thread-safe."""

    def __init__(self, groups: Mapping[str, Group]) -> None:
        self.groups = groups
        self.runs: dict[str, CheckRun] = {}
        self.lock = threading.Lock()

    def results(self) -> Found:
        """The results of all groups; without those that have not come in time."""
        runs = [self.begin(name) for name in self.groups]
        return {name: result for run in runs for name, result in run.wait().items()}

    def begin(self, name: str) -> CheckRun:
        with self.lock:
            run = self.runs.get(name)
            if run is None or not run.is_alive():
                run = self.runs[name] = CheckRun(name, self.groups[name])
                run.start()
            return run
