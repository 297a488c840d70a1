"""Health checks and metrics: what each reports while a part of the instance fails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session, scoped_session

from app.analytics.ingest import Ingest
from app.core import database_damage
from app.core.config import Settings
from app.core.extensions import db
from app.core.file_locks import lock_file
from app.jobs import maintenance as jobs
from app.journal.codec import NEWEST, Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.redirects.models import LimitedVisit
from tests.analytics.conftest import take_in


@pytest.fixture
def worker(settings: Settings) -> Iterator[None]:
    """A worker runs, and has just written its heartbeat."""
    with lock_file(settings.data_dir / jobs.WORKER_LOCK):
        jobs.beat(settings.data_dir)
        yield


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
    """The names of the failing checks."""
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json
    return {name for name, check in answer.json["checks"].items() if not check["ok"]}


def test_a_heartbeat_that_a_killed_worker_left_is_not_the_next_ones(
    client: FlaskClient, settings: Settings
) -> None:
    jobs.beat(settings.data_dir)
    assert wrong(client) == {"worker"}
    with lock_file(settings.data_dir / jobs.WORKER_LOCK):
        jobs.forget_heartbeat(settings.data_dir)  # as each worker begins
        assert wrong(client) == {"worker"}
        jobs.beat(settings.data_dir)
        assert client.get("/readyz").status_code == 200


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

    assert shown() == {"ok": True, "detail": None, "seconds": 0, "waiting": 0, "unknown": 0}
    write(5, 4)
    write(600, version=".v99")
    found = shown()
    assert 4 < found.pop("seconds") < 60
    assert found == {"ok": True, "detail": None, "waiting": 2, "unknown": 1}
    with closing(Ingest(settings)) as ingest:
        take_in(ingest)
    assert shown() == {"ok": True, "detail": None, "seconds": 0, "waiting": 0, "unknown": 1}
    write(600)
    assert wrong(client) == {"limited"}


def reason(client: FlaskClient, name: str) -> str:
    """The detail of a failing check."""
    answer = client.get("/readyz")
    assert answer.json
    check = answer.json["checks"][name]
    assert (answer.status_code, check["ok"]) == (503, False)
    return str(check["detail"])


@pytest.mark.usefixtures("worker")
def test_not_ready_while_the_journal_can_not_be_written(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)  # modes don't stop the tests' user, root
    assert wrong(client) == {"journal"}
    assert reason(client, "journal") == "the journal can't be written to (Permission denied)"


def damage(path: Path, start: int) -> None:
    """Overwrite a file from `start` to its end in another process, so that our own locks on it stay."""
    program = (
        "import sys, os; f = open(sys.argv[1], 'r+b'); size = os.path.getsize(sys.argv[1]); "
        "f.seek(int(sys.argv[2])); f.write(b'\\xa5' * (size - int(sys.argv[2])))"
    )
    subprocess.run([sys.executable, "-c", program, str(path), str(start)], check=True)


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("name", ["main.db", "clicks.db"])
@pytest.mark.parametrize("start", [0, 4096], ids=["whole", "all but the first page"])
def test_not_ready_with_a_damaged_database(
    client: FlaskClient, settings: Settings, name: str, start: int
) -> None:
    damage(settings.data_dir / name, start)
    assert "the database is damaged" in reason(client, "database")


@pytest.mark.usefixtures("worker")
def test_of_a_large_database_both_ends_of_each_table_are_read(
    client: FlaskClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_damage, "WHOLE_BYTES", 0)
    assert client.get("/readyz").status_code == 200
    damage(settings.data_dir / "main.db", 4096)
    assert "the database is damaged" in reason(client, "database")


@pytest.mark.databases
@pytest.mark.usefixtures("worker")
def test_not_ready_for_some_minutes_after_a_query_met_damage(
    client: FlaskClient, settings: Settings, tmp_path: Path
) -> None:
    """A health check does not read all of a large file, but another process's query may meet the damage."""
    assert client.get("/readyz").status_code == 200
    (tmp_path / "other.db").write_bytes(b"no database" * 1000)
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'other.db'}")
    database_damage.watch_engine(engine, settings.data_dir)
    with pytest.raises(DatabaseError), engine.connect() as connection:
        connection.execute(sa.text("SELECT * FROM sqlite_master"))
    engine.dispose()
    assert wrong(client) == {"database"}
    late = time.time() - database_damage.REMEMBERED_SECONDS
    os.utime(settings.data_dir / database_damage.FILE, (late, late))
    assert client.get("/readyz").status_code == 200


class SqlStateError(Exception):
    """Stands for a driver's error with PostgreSQL's code."""

    def __init__(self, sqlstate: str) -> None:
        self.sqlstate = sqlstate


def test_postgresql_says_damage_by_its_code() -> None:
    assert database_damage.is_damage(SqlStateError("XX001"))
    assert not database_damage.is_damage(SqlStateError("08006"))


@pytest.mark.databases
@pytest.mark.usefixtures("worker")
def test_not_ready_with_a_database_that_only_reads(
    client: FlaskClient,
    session: scoped_session[Session],
    database: str,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert client.get("/readyz").status_code == 200
    if database == "postgresql":
        name = session.scalar(sa.text("SELECT current_database()"))
        session.execute(sa.text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
        session.commit()
        close_connections(client)
    else:  # modes don't stop the tests' user, root
        may = os.access
        monkeypatch.setattr(
            os,
            "access",
            lambda path, mode, **more: Path(path).name != "clicks.db" and may(path, mode, **more),
        )
    assert reason(client, "database") == "the database can be read, but not be written to"
    told = client.application.test_cli_runner().invoke(args=["doctor"]).output
    assert "takes no writes" in told or "clicks.db can't be written to" in told


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


def metrics_of(client: FlaskClient) -> dict[str, float]:
    """The gauges of `/metrics`."""
    answer = client.get("/metrics", headers={"Authorization": "Bearer a token of the tests"})
    assert answer.status_code == 200
    lines = [line.split() for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


@pytest.mark.settings(METRICS_TOKEN="a token of the tests")
@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("name", ["main.db", "clicks.db"])
def test_metrics_while_a_sqlite_file_is_damaged(
    client: FlaskClient, settings: Settings, journal: Journal, name: str
) -> None:
    whole = metrics_of(client)
    assert whole["waypost_database_up"] == 1
    close_connections(client)
    journal.dropped.add(3)
    damage(settings.data_dir / name, 0)
    found = metrics_of(client)
    assert (found["waypost_database_up"], found["waypost_visits_dropped"]) == (0, 3)
    assert "waypost_worker_age_seconds" in found
    assert "waypost_journal_age_seconds" not in found, "no figure is better than a wrong one"


def close_connections(client: FlaskClient) -> None:
    """Close the connections: the next request opens the files as they are then."""
    with client.application.app_context():
        db.engine.dispose()
