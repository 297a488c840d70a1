"""Does the instance say truly whether it is alive, and fit to work?"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.orm import Session, scoped_session

from app.clicks import backfill
from app.clicks.engine import open_engine
from app.clicks.ingest import Ingest
from app.clicks.models import Position
from app.config import Settings
from app.jobs import tending as jobs
from app.journal.record import NEWEST, Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.visits.models import LimitedVisit
from tests.clicks.conftest import take_in


@pytest.fixture
def worker(settings: Settings) -> None:
    """A worker has just said that it is there."""
    jobs.beat(settings.data_dir)


@pytest.fixture
def journal(settings: Settings) -> Iterator[Journal]:
    journal = Journal(directory_of(settings.data_dir))
    yield journal
    journal.close()


def test_alive_without_a_database(app: Flask, client: FlaskClient) -> None:
    (app.config["WAYPOST"].data_dir / "main.db").unlink()
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json) == (200, {"status": "ok"})
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.databases
@pytest.mark.usefixtures("worker")
def test_ready(client: FlaskClient) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json
    assert answer.json["status"] == "ready"
    assert all(check["ok"] for check in answer.json["checks"].values())


def wrong(client: FlaskClient) -> set[str]:
    """Which parts are not in order."""
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json
    return {name for name, check in answer.json["checks"].items() if not check["ok"]}


def test_not_ready_without_a_worker(client: FlaskClient) -> None:
    assert wrong(client) == {"worker"}


def test_not_ready_with_a_worker_that_has_fallen_silent(
    client: FlaskClient, settings: Settings, worker: None
) -> None:
    late = time.time() - 60
    os.utime(jobs.heartbeat(settings.data_dir), (late, late))
    assert wrong(client) == {"worker"}


@pytest.mark.usefixtures("worker")
def test_not_ready_before_migrations(client: FlaskClient, session: scoped_session[Session]) -> None:
    session.execute(sa.text("DELETE FROM alembic_version"))
    session.commit()
    assert wrong(client) == {"migrations"}


@pytest.mark.usefixtures("worker")
def test_visits_that_wait_are_shown_and_minutes_of_them_are_too_many(
    client: FlaskClient, journal: Journal
) -> None:
    journal.append(encode(Visit(time.time_ns() // 1_000_000 - 5_000, 1, 1, 0)))
    found = client.get("/readyz").json
    assert found
    assert found["status"] == "ready"
    assert 4 < found["checks"]["journal"]["seconds"] < 60
    journal.close()
    journal.append(encode(Visit(time.time_ns() // 1_000_000 - 600_000, 1, 1, 0)))
    assert wrong(client) == {"journal"}


@pytest.mark.databases
@pytest.mark.usefixtures("worker")
def test_visits_of_limited_links_that_wait_are_shown_too(
    client: FlaskClient, settings: Settings, session: scoped_session[Session]
) -> None:
    def write(*seconds: float, version: str = NEWEST) -> None:
        lines = [encode(Visit(int((time.time() - age) * 1000), 1, 1, 0)) for age in seconds]
        session.add_all(LimitedVisit(version=version, line=line) for line in lines)
        session.commit()

    def shown() -> dict[str, Any]:
        found: dict[str, Any] = (client.get("/readyz").json or {})["checks"]["limited"]
        return found

    assert shown() == {"ok": True, "seconds": 0, "waiting": 0, "unknown": 0}
    write(5, 4)
    write(600, version=".v99")
    found = shown()
    assert 4 < found.pop("seconds") < 60
    assert found == {"ok": True, "waiting": 2, "unknown": 1}
    with closing(Ingest(settings)) as ingest:
        take_in(ingest)
    assert shown() == {"ok": True, "seconds": 0, "waiting": 0, "unknown": 1}
    write(600)
    assert wrong(client) == {"limited"}


@pytest.mark.databases
@pytest.mark.usefixtures("worker")
def test_visits_that_no_sum_has_yet_are_shown(client: FlaskClient, settings: Settings) -> None:
    """As after an update from a version that had rows alone."""
    assert (client.get("/readyz").json or {})["checks"]["statistics"] == {"ok": True, "rows_to_add_up": 0}
    engine = open_engine(settings)
    with engine.begin() as connection:
        row = {"name": backfill.NAME, "counters_offset": 3, "rows_offset": 10}
        connection.execute(sa.insert(Position).values(row))
    engine.dispose()
    assert (client.get("/readyz").json or {})["checks"]["statistics"] == {"ok": True, "rows_to_add_up": 7}


@pytest.mark.usefixtures("worker")
def test_dropped_visits_are_shown(client: FlaskClient, journal: Journal) -> None:
    journal.dropped.prepare()
    journal.dropped.add(3)
    found = client.get("/readyz").json
    assert found
    assert found["checks"]["journal"]["dropped"] == 3


def test_not_ready_without_a_database(app: Flask, client: FlaskClient) -> None:
    (app.config["WAYPOST"].data_dir / "clicks.db").unlink()  # cannot be attached any more
    assert "database" in wrong(client)


def test_metrics_are_not_there_without_a_token(client: FlaskClient) -> None:
    assert client.get("/metrics").status_code == 404


@pytest.mark.settings(METRICS_TOKEN="a token of the tests")
def test_metrics_only_for_who_has_the_token(client: FlaskClient) -> None:
    for sent in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer é"}):
        answer = client.get("/metrics", headers=sent)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    answer = client.get("/metrics", headers={"Authorization": "Bearer a token of the tests"})
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    names = {
        "waypost_journal_age_seconds",
        "waypost_visits_dropped",
        "waypost_limited_waiting",
        "waypost_deliveries_waiting",
        "waypost_deliveries_age_seconds",
    }
    assert {line.split()[0] for line in lines} >= names
    assert all(float(line.split()[1]) >= 0 for line in lines)
