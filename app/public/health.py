"""Is this instance alive, is it fit to work, and how much waits?"""

from __future__ import annotations

import errno
import hmac
import os
import sqlite3
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, request
from redis.exceptions import RedisError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.cli import database
from app.clicks import backfill
from app.clicks.lag import JournalState
from app.clicks.limited_lag import limited_lag
from app.clock import written
from app.config import Settings
from app.database import clicks_path
from app.database_damage import is_damage_noted, is_file_damaged
from app.extensions import db
from app.jobs import tending
from app.journal import segments
from app.journal.segments import directory_of
from app.public.metrics import read_journal_state, render_metrics
from app.secret_keys.check import KeyState, compare_keys
from app.secret_keys.ring import keys
from app.throttles import ping
from app.visits.desk import Desk

blueprint = Blueprint("health", __name__)

WORKER_SECONDS = 15  # a worker says that it is there every second; a long transaction may keep it
LAG_SECONDS = 60
DROPPED_SECONDS = 600

Check = dict[str, Any]


def settings() -> Settings:
    found: Settings = current_app.config["WAYPOST"]
    return found


@blueprint.get("/healthz")
def healthz() -> Response:
    """This process answers. Asks nothing and nobody."""
    return no_store(jsonify(status="ok"))


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Everything that is needed is there; each part says for itself what is wrong. 503 when one is not."""
    checks = {name: checked(check) for name, check in CHECKS.items()}
    is_ready = all(check["ok"] for check in checks.values())
    body = jsonify(status="ready" if is_ready else "not ready", checks=checks)
    return no_store(body), 200 if is_ready else 503


@blueprint.get("/metrics")
def metrics() -> Response:
    """The same in numbers, for Prometheus; there only with METRICS_TOKEN, and only for who sends it."""
    token = settings().metrics_token
    if token is None:
        return no_store(Response(status=404))
    sent = request.headers.get("Authorization", "")
    if not hmac.compare_digest(sent.encode(), f"Bearer {token}".encode()):
        return no_store(Response(status=401, headers={"WWW-Authenticate": "Bearer"}))
    return no_store(
        Response(render_metrics(settings()), content_type="text/plain; version=0.0.4; charset=utf-8")
    )


def no_store(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


def checked(check: Callable[[], Check]) -> Check:
    """What a check found, or why it could not look; nothing of the inside is told to whoever asks."""
    try:
        return check()
    except (SQLAlchemyError, sqlite3.Error, OSError):
        current_app.logger.exception("not ready")
        db.session.rollback()  # what follows must not fail for this
        return {"ok": False, "detail": "the storage gives no answer"}


def database_check() -> Check:
    """Not ready where the database gives no answer, or where what it holds is found damaged."""
    found = settings()
    files = [Path(db.engine.url.database or ""), clicks_path(found)] if found.is_sqlite else []
    if is_damage_noted(found.data_dir) or any(map(is_file_damaged, files)):
        return {"ok": False, "detail": "the database is damaged: see `flask doctor`, or restore a backup"}
    db.session.execute(text("SELECT 1"))
    return {"ok": True}


def migrations_check() -> Check:
    return {"ok": database.heads() == newest()}


@cache
def newest() -> set[str]:
    """Where migrations end: the files do not change while a process runs."""
    return set(database.scripts().get_heads())


def secret_key_check() -> Check:
    """The start refuses a wrong key; this tells of a file that was replaced while the process ran."""
    state, _ = compare_keys(db.session, keys().all())
    if state in {KeyState.WRONG, KeyState.MISSING}:
        return {"ok": False, "detail": "not the secret key that the database needs: see `flask doctor`"}
    return {"ok": True, "rotating": state is KeyState.ROTATING}


def worker_check() -> Check:
    age = tending.heartbeat_age(settings().data_dir)
    return {"ok": age is not None and age < WORKER_SECONDS, "seconds": None if age is None else round(age, 1)}


def journal_check() -> Check:
    """Not ready while visits wait for minutes or can't be written, or where some were dropped just now."""
    state = read_journal_state(settings())
    desk: Desk = current_app.extensions["visits"]
    detail = describe_journal(state)
    return {
        "ok": detail is None,
        "detail": detail,
        "seconds": round(state.counters.seconds, 1),
        "rows_seconds": round(state.rows.seconds, 1),
        "waiting_bytes": state.rows.waiting_bytes,
        "dropped": state.dropped,
        "in_memory": desk.journal.kept_visits(),  # of this process
        "unknown_segments": len(state.unknown),
        "waits_for": state.waits_for or None,
    }


def describe_journal(state: JournalState) -> str | None:
    """What is wrong with the journal; None where nothing is."""
    try:
        segments.check_writable(directory_of(settings().data_dir))
    except OSError as error:
        return f"the journal can't be written to ({os.strerror(error.errno or errno.EIO)})"
    if time.time() - state.last_dropped < DROPPED_SECONDS:
        return "visits could not be written and were dropped in the last minutes"
    if state.counters.seconds >= LAG_SECONDS:
        return "visits wait to be counted: see whether the worker runs"
    return None


def redis_check() -> Check:
    """Whether Redis answers, where it is set: without it each process counts requests and tries alone."""
    url = settings().redis_url
    if url is None:
        return {"ok": True, "is_set": False}
    try:
        ping(url)
    except RedisError as error:
        current_app.logger.warning("Redis gives no answer: %s", error)
        return {"ok": False, "is_set": True, "detail": "Redis gives no answer, and REDIS_URL is set"}
    return {"ok": True, "is_set": True}


def limited_check() -> Check:
    """Visits of limited links have a way of their own to the statistics; `clicks` has them at once."""
    lag = limited_lag(db.session(), time.time())
    return {
        "ok": lag.seconds < LAG_SECONDS,
        "seconds": round(lag.seconds, 1),
        "waiting": lag.waiting,
        "unknown": lag.unknown,
    }


def statistics_check() -> Check:
    """After an update that brought sums, visits from before are added up bit by bit: how many are not yet."""
    done, end = backfill.state(db.session())
    return {"ok": True, "rows_to_add_up": end - done}


def log_check() -> Check:
    """How much of what owners wrote is not in the database's own file yet (SQLite)."""
    return {"ok": True, "bytes": tending.wal_bytes(db.engine)}


PLACES = {
    "damaged": "the file of places is damaged and not used: fetch one with `flask geo update`",
    "checking": "the file of places is being read through, and used when it is whole",
}


def places_check() -> Check:
    """Never a reason not to be ready: without places visitors go on, only nobody knows where they are."""
    desk: Desk = current_app.extensions["visits"]
    status = desk.places.status
    said = status.attribution
    return {
        "ok": True,
        "state": status.state,
        "detail": PLACES.get(status.state),
        "kind": status.kind or None,
        "built": status.built and written(status.built),
        "failed": status.failed,
        "attribution": said and f"{said.text} ({said.url})",
    }


CHECKS: dict[str, Callable[[], Check]] = {
    "database": database_check,
    "migrations": migrations_check,
    "secret_key": secret_key_check,
    "worker": worker_check,
    "journal": journal_check,
    "limited": limited_check,
    "redis": redis_check,
    "statistics": statistics_check,
    "wal": log_check,
    "places": places_check,
}
