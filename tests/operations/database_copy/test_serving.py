"""A service whose database is moved: clicks count once, changes are refused and said so, and it comes back."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from app.analytics.ingest import Ingest
from app.core import write_stop
from app.core.config import Settings
from app.core.extensions import db
from app.core.folders import ROOT
from app.core.write_stop import CopyState, Phase
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from app.operations.database_copy import moving, targets
from tests.clients import Api
from tests.crowds import Owner
from tests.server import Server, wait_for
from tests.test_kills import Crowd


@pytest.fixture
def stop(settings: Settings) -> Iterator[Callable[[], None]]:
    """Refuses changes, as a complete copy leaves it."""

    def refuse() -> None:
        source = targets.open_source(settings)
        source.refuse_changes()
        source.close()
        write_stop.write_state(settings, CopyState(Phase.COMPLETE, "postgresql://elsewhere"))

    yield refuse
    moving.cancel(settings)


@pytest.mark.databases
def test_changes_are_refused_and_reading_goes_on(
    app: Flask, api: Api, client: FlaskClient, alice, make_link, stop: Callable[[], None], settings: Settings
) -> None:
    made = make_link(alice, url="hot")
    limited = make_link(alice, url="limited", clicks_limit=9)
    stop()
    for method, path in (("POST", "/links"), ("POST", f"/links/{made.id}"), ("DELETE", f"/links/{made.id}")):
        answer = api.open(method, path, json={"location_url": "https://example.com/"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30"), answer.text
        assert answer.json["errors"][0]["code"] == "read_only"
    assert api.get("/links").status_code == 200
    assert client.get(f"/{made.url}").status_code == 302
    assert client.get(f"/{limited.url}").status_code == 503
    ready = client.get("/readyz").json
    assert (ready["checks"]["worker"]["ok"], ready["checks"]["journal"]["ok"]) == (True, True)
    moving.cancel(settings)
    assert api.delete(f"/links/{made.id}").status_code in {200, 204}


@pytest.mark.databases
def test_the_ingest_waits_and_goes_on(settings: Settings, stop: Callable[[], None], tmp_path: Path) -> None:
    journal = (
        Journal(settings.data_dir / "journal") if (settings.data_dir / "journal").mkdir() is None else None
    )
    assert journal is not None
    assert journal.append(encode(Visit(1, 7, 1, 0)))
    ingest = Ingest(settings)
    stop()
    ingest.step()
    assert "takes no changes" in ingest.status().waits_for
    moving.cancel(settings)
    ingest.errors.forget()
    wait_for(lambda: ingest.step() or ingest.status().rows.waiting_bytes == 0, "the click")
    ingest.close()
    journal.close()


@pytest.mark.databases
def test_all_kinds_of_changes(app: Flask, alice, stop: Callable[[], None]) -> None:
    stop()
    with app.app_context():
        for statement in (
            'DELETE FROM "user"',
            "UPDATE \"user\" SET name = ''",
            "INSERT INTO audit_retention (id, days) VALUES (1, 90)",
        ):
            with pytest.raises(OperationalError, match="takes no changes"):
                db.session.execute(text(statement))
            db.session.rollback()


def counted(address: str) -> Counter[str]:
    query = (
        "SELECT value, count(*) FROM clicks.click JOIN clicks.term ON term.id = utm_source_id GROUP BY value"
    )
    with psycopg.connect(address) as connection:
        return Counter({str(value): int(number) for value, number in connection.execute(query)})


def copy(server: Server, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "db", "copy", "--to", address]
    return subprocess.Popen(
        command, cwd=ROOT, env=server.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


class CalmCrowd(Crowd):
    """Visitors who leave the machine some time for the copy."""

    def note(self, number: str, status: int) -> None:
        super().note(number, status)
        time.sleep(0.02)


@pytest.mark.full
def test_visits_during_the_copy_count_once(make_server: Callable[..., Server], empty_postgres: str) -> None:
    """Visits before, during and after it, on a real server that is restarted with the new database."""
    server = make_server(API_RATE_LIMIT="0")
    owner = Owner(server)
    owner.make_link(url="hot", location_url="https://example.com/")
    crowd = CalmCrowd(server.port)
    threads = crowd.come(until=200_000)
    wait_for(lambda: len(crowd.answered) > 300, "visits")
    process = copy(server, empty_postgres)
    changed = 0
    while process.poll() is None:
        done = owner.session.post(
            f"{owner.site}/links", json={"location_url": "https://example.com/"}, timeout=60
        )
        assert done.status_code in {201, 503}, done.text
        changed += done.status_code == 201
        time.sleep(0.05)
    said, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "copied and compared" in said and f"WAYPOST_DATA_DIR stays {server.data_dir}" in said
    during = len(crowd.answered)
    assert server.status("/readyz") == 200
    wait_for(lambda: len(crowd.answered) > during + 300, "visits that wait in the journal")
    refused = owner.session.post(
        f"{owner.site}/links", json={"location_url": "https://example.com/"}, timeout=60
    )
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
    crowd.stop()
    for thread in threads:
        thread.join()
    server.stop()
    server.environ["WAYPOST_DATABASE_URL"] = empty_postgres
    server.start()
    wait_for(lambda: sum(counted(empty_postgres).values()) >= len(crowd.answered), "all clicks")
    server.stop()
    found = counted(empty_postgres)
    assert set(found) == crowd.answered
    assert set(found.values()) == {1}
    with psycopg.connect(empty_postgres) as connection:
        total = connection.execute("SELECT clicks FROM clicks.counter WHERE link_id = 1").fetchone()
        links = connection.execute("SELECT count(*) FROM link").fetchone()
    assert total == (len(crowd.answered),)
    assert links == (changed + 1,), "each link whose making was answered"
