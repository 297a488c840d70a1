"""Ingest with a failing database or disk: every click is counted once, and the cause is reported."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event, text

from app.analytics import engine
from app.analytics.ingest import Ingest
from app.analytics.lag import JournalLag, JournalState, hindrance_file, journal_state
from app.analytics.offsets import Offsets
from app.core.config import load_settings
from app.core.folders import ROOT
from app.core.patience import INGEST
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.persistent_value import PersistentValue
from app.journal.writer import Journal
from tests.analytics.conftest import Tables, take_in
from tests.migrations import environ


@pytest.mark.databases
def test_a_locked_database(
    make_ingest: Callable[[], Ingest],
    tables: Tables,
    visit: Callable[..., None],
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(engine, "BUSY_MS", 20)
    monkeypatch.setattr(engine, "INGEST", replace(INGEST, lock=0.02))
    ingest = make_ingest()
    visit(7)
    take_in(ingest)
    visit(7, 8)
    with tables.engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE clicks.counter"))
        assert [ingest.step() for _ in range(3)] == [False] * 3
        assert "lock" in hindrance_file(directory).read()
        assert "lock" in ingest.status().waits_for
        assert ingest.status().counters.waiting_bytes > 0
    assert caplog.text.count("Clicks wait in the journal") == 1, "said once, not at every try"
    take_in(ingest)
    assert tables.counters() == {7: 2, 8: 1}
    assert len(tables.rows()) == 3
    assert hindrance_file(directory).read() == ""


@pytest.mark.databases
@pytest.mark.parametrize("fails", ["app.analytics.counters.add_clicks", "app.analytics.rows.append_clicks"])
def test_a_transaction_that_fails_half_way_leaves_nothing_behind(
    ingest: Ingest, tables: Tables, visit: Callable[..., None], monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    visit(7, 7)
    failure = ingest._failures[1]  # the driver's own exception

    def fail(*_arguments: object) -> None:
        raise failure("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(fails, fail)
        assert not ingest.step()
        assert ingest.status().waits_for == "the disk is full"
        assert tables.rows() == []
    take_in(ingest)
    assert tables.counters() == {7: 2}
    assert len(tables.rows()) == 2
    assert ingest.status().waits_for == ""


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_lost_connection(ingest: Ingest, tables: Tables, visit: Callable[..., None]) -> None:
    visit(7)
    take_in(ingest)
    with tables.engine.begin() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    visit(7)
    take_in(ingest)
    assert tables.counters() == {7: 2}


def test_a_database_that_is_not_migrated_yet(tmp_path: Path) -> None:
    ingest = Ingest(load_settings(environ(tmp_path)))
    assert not ingest.step()
    assert ingest._waits_for.startswith("no such table")
    ingest.close()


def test_what_a_killed_worker_waited_for_is_forgotten(
    make_ingest: Callable[[], Ingest], directory: Path
) -> None:
    hindrance_file(directory).change(lambda _before: "database is locked")
    make_ingest().step()
    assert hindrance_file(directory).read() == ""


def test_where_nothing_can_be_written_it_still_goes_on(
    ingest: Ingest,
    visit: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError("No space left on device")

    visit(7)
    monkeypatch.setattr(PersistentValue, "change", refuse)
    monkeypatch.setattr(ingest, "sync", refuse)
    ingest.step()
    assert "Clicks wait in the journal: No space left on device" in caplog.text
    assert "reason why clicks wait can't be stored" in caplog.text


def test_a_program_error_is_told_and_loses_nothing(
    ingest: Ingest, tables: Tables, visit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    visit(7)
    with monkeypatch.context() as patched:
        patched.setattr("app.analytics.counters.tally_chunk", lambda *_arguments: 1 / 0)
        ingest.step()
        assert ingest.status().waits_for == "division by zero"
        ingest.step()
        assert ingest.status().waits_for == "division by zero", "it is backed off, and still waited for"
    ingest.errors.forget()
    take_in(ingest)
    assert (tables.counters(), ingest.status().waits_for) == ({7: 1}, "")


def state(directory: Path, now: float, **offsets: Offsets) -> JournalState:
    names = segments.list_segments(directory)
    return journal_state(directory, dict(zip(names, offsets.values(), strict=False)), now)


def test_the_lag_is_the_age_of_the_oldest_visit_that_waits(tmp_path: Path) -> None:
    assert state(tmp_path, 100.0) == JournalState(JournalLag(0, 0.0), JournalLag(0, 0.0), 0, 0, (), "")
    lines = [encode(Visit(seconds * 1000, 1, 1, 0)) for seconds in (90, 95, 99)]
    first, second = Journal(tmp_path), Journal(tmp_path)
    first.append(lines[0])
    first.append(lines[1])
    second.append(lines[2])
    one, two = len(lines[0]), len(lines[0]) + len(lines[1])
    assert state(tmp_path, 100.0).counters == JournalLag(two + len(lines[2]), 10.0)
    now = state(tmp_path, 100.0, first=Offsets(two, one), second=Offsets(0, 0))
    assert (now.counters, now.rows) == (
        JournalLag(len(lines[2]), 1.0),
        JournalLag(len(lines[1]) + len(lines[2]), 5.0),
    )
    assert state(tmp_path, 90.0).counters.seconds == 0.0, "a clock that was set back"
    first.close()
    second.close()


def test_a_torn_line_has_no_age(tmp_path: Path) -> None:
    (tmp_path / "1795000000000000000-00112233aabbccdd.v1").write_bytes(b"\ntorn")
    assert state(tmp_path, 100.0).counters == JournalLag(5, 0.0)


def test_a_database_that_can_grow_no_more(
    ingest: Ingest,
    tables: Tables,
    visit: Callable[..., None],
    client: FlaskClient,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Simulates a disk that is full for the database only: the journal is on another one."""
    visit(7)
    take_in(ingest)
    limits = ["PRAGMA max_page_count = 1"]  # SQLite raises this to the present size: no page can be added
    for engine_ in (ingest._engine,):
        event.listen(engine_, "checkout", lambda connection, *_: connection.execute(limits[0]))
    texts = [f"{n} " + "a" * 500 for n in range(400)]
    for agent in texts:
        visit(7, agent=agent)
    assert [any(ingest.step() for _ in range(5)) for _ in range(3)][1:] == [False, False]
    assert caplog.text.count("Clicks wait in the journal: database or disk is full") == 1, "said once"
    before = checked(client)
    assert before["waits_for"] == "database or disk is full"
    assert before["waiting_bytes"] > 0
    assert max(before["seconds"], before["rows_seconds"]) > 0
    assert before["dropped"] == 0
    assert len(tables.rows()) < 401

    limits[0] = "PRAGMA max_page_count = 1073741823"
    take_in(ingest)
    assert tables.counters() == {7: 401}
    assert len(tables.rows()) == 401
    assert {*texts} <= {*tables.terms().values()}
    assert "Clicks are ingested again" in caplog.text
    after = checked(client)
    assert (after["waits_for"], after["waiting_bytes"], after["rows_seconds"]) == (None, 0, 0)


def checked(client: FlaskClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/readyz").get_json()["checks"]["journal"]
    return found


NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
ON_TMPFS = 'mount -t tmpfs -o size=24m none "$0" && exec "$@"'


def on_small_disk(directory: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with a file system of 24 MB at `directory`, which no other process sees."""
    whole = [*NAMESPACE, "sh", "-c", ON_TMPFS, str(directory), *command]
    return subprocess.run(whole, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    directory = tmp_path / "small"
    directory.mkdir()
    if shutil.which("unshare") is None or on_small_disk(directory, "true").returncode != 0:
        pytest.skip("no file system can be mounted here")
    return directory


@pytest.mark.full
def test_a_full_disk(small_disk: Path, sqlite_template: Path) -> None:
    done = on_small_disk(
        small_disk, sys.executable, "-m", "tests.analytics.full_disk", str(small_disk), str(sqlite_template)
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["reserve_gave_bytes"] > 3_500_000
    assert found["refused"] > 0
    assert found["dropped_after_restart"] == found["refused"]
    assert "full" in found["waits_for_when_full"]
    assert found["rows_when_full"] < found["acknowledged"]
    assert found["counter"] == found["rows"] == found["acknowledged"]
    assert found["waits_for"] == ""
    assert found["has_reserve_again"]
