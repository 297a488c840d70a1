"""Worker: it does its duties, waits for a locked database, and only one is active at a time."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.analytics.models import Counter
from app.analytics.periods import DAY_MS
from app.analytics.rollup_models import MANY, OwnerDay
from app.analytics.tally import InOrder
from app.core import clock
from app.core.config import Settings
from app.jobs import maintenance
from app.jobs.worker import UPKEEP_EVERY, Duty, Worker
from app.journal.codec import Visit, encode
from app.journal.segments import directory_of
from app.journal.writer import Journal
from app.links.models import PlanChange
from tests.factories import Factory
from tests.server import wait_for


@pytest.fixture
def worker(settings: Settings) -> Iterator[Worker]:
    worker = Worker(settings)
    yield worker
    worker.engine.dispose()


@pytest.fixture
def running(worker: Worker) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=worker.run)
    thread.start()
    yield thread
    worker.end()
    thread.join(90)
    assert not thread.is_alive()


def visit(settings: Settings) -> None:
    journal = Journal(directory_of(settings.data_dir))
    assert journal.append(encode(Visit(time.time_ns() // 1_000_000, 7, 1, 0)))
    journal.close()


def clicks(session: scoped_session[Session]) -> int:
    session.rollback()
    found = session.get(Counter, 7)
    return found.clicks if found else 0


@pytest.mark.databases
def test_it_counts_says_that_it_is_there_and_ends(
    settings: Settings, session: scoped_session[Session], running: threading.Thread
) -> None:
    visit(settings)
    wait_for(lambda: clicks(session) == 1, "the click")
    age = maintenance.heartbeat_age(settings.data_dir)
    assert age is not None
    assert age < 15


def test_no_heartbeat_before_the_first_worker(settings: Settings) -> None:
    assert maintenance.heartbeat_age(settings.data_dir) is None


def test_each_worker_begins_without_the_heartbeat_of_the_one_before(
    settings: Settings, worker: Worker
) -> None:
    maintenance.beat(settings.data_dir)
    worker.duties = []
    worker.end()
    worker.work()
    assert not maintenance.heartbeat(settings.data_dir).exists()


def test_a_journal_that_never_runs_dry_still_gets_its_upkeep(
    settings: Settings, session: scoped_session[Session], worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, step = Journal(directory_of(settings.data_dir)), worker.ingest.step
    long_ago = time.time_ns() // 1_000_000 - 3 * DAY_MS
    for n in range(MANY):
        assert journal.append(encode(Visit(long_ago, 7, 1, 0, visitor=f"v{n}")))

    def step_of_many() -> bool:
        assert journal.append(encode(Visit(time.time_ns() // 1_000_000, 7, 1, 0)))
        return step()

    monkeypatch.setattr(worker.ingest, "step", step_of_many)
    steps = 10 * UPKEEP_EVERY
    assert [worker.turn() for _ in range(steps)] == [True] * steps
    journal.close()
    assert clicks(session) == MANY + steps
    day = session.get(OwnerDay, (1, long_ago // DAY_MS))
    assert day is not None
    assert day.rolled == day.visits == MANY


def test_an_upkeep_that_has_no_room_rests_and_visits_go_on(
    settings: Settings, session: scoped_session[Session], worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def refuse(_self: InOrder) -> None:
        tried.append(1)
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(InOrder, "__init__", refuse)
    monkeypatch.setattr("app.jobs.worker.RETRY_SECONDS", 0.0)
    journal = Journal(directory_of(settings.data_dir))
    long_ago = time.time_ns() // 1_000_000 - 3 * DAY_MS
    assert all(journal.append(encode(Visit(long_ago, 7, 1, 0))) for _ in range(MANY))
    journal.close()
    for _ in range(10):
        worker.turn()
    assert tried == [1]
    visit(settings)
    assert worker.turn()
    assert clicks(session) == MANY + 1


def test_what_is_in_the_journal_at_the_end_is_taken_in(
    settings: Settings, session: scoped_session[Session], worker: Worker
) -> None:
    visit(settings)
    worker.end()
    worker.work()
    assert clicks(session) == 1


def test_a_second_one_stands_by_until_the_first_is_gone(
    settings: Settings, session: scoped_session[Session], worker: Worker, running: threading.Thread
) -> None:
    wait_for(lambda: maintenance.heartbeat_age(settings.data_dir) is not None, "the first")
    second = Worker(settings)
    worked = threading.Event()
    second.duties = [Duty("sign", 0, worked.set)]
    thread = threading.Thread(target=second.run)
    thread.start()
    try:
        assert not worked.wait(1.5)
        worker.end()
        assert worked.wait(90)
    finally:
        second.end()
        thread.join(90)


def test_a_database_that_is_locked_is_waited_for(
    settings: Settings, session: scoped_session[Session], running: threading.Thread
) -> None:
    with closing(sqlite3.connect(settings.data_dir / "clicks.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        visit(settings)
        waits = directory_of(settings.data_dir) / "waits-for"
        wait_for(lambda: waits.exists() and b"locked" in waits.read_bytes(), "the worker to say so")
        other.execute("ROLLBACK")
    wait_for(lambda: clicks(session) == 1, "the click")


@pytest.mark.databases
def test_old_changes_go_and_the_newest_stays(
    factory: Factory, session: scoped_session[Session], worker: Worker
) -> None:
    old = clock.now() - dt.timedelta(hours=2)
    for number in range(3):
        factory.add(PlanChange(domain_id=0, alias=f"old{number}", datetime=old))
    maintenance.prune_changes(worker.engine)
    assert [row.alias for row in session.query(PlanChange)] == ["old2"]
    factory.add(PlanChange(domain_id=0, alias="new"))
    factory.add(PlanChange(domain_id=0, alias="newest"))
    maintenance.prune_changes(worker.engine)
    assert [row.alias for row in session.query(PlanChange).order_by(PlanChange.id)] == ["new", "newest"]


@pytest.mark.parametrize(
    ("large", "long"),
    [
        pytest.param(10**12, 10**12, id="passive"),
        pytest.param(10**12, 0, id="restart"),
        pytest.param(0, 10**12, id="truncate"),
    ],
)
def test_the_log_is_brought_into_the_file(
    large: int, long: int, settings: Settings, alice: User, session: scoped_session[Session], worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(maintenance, "LARGE_WAL", large)
    monkeypatch.setattr(maintenance, "LONG_WAL", long)
    session.remove()
    assert maintenance.wal_bytes(worker.engine) > 0
    before = (settings.data_dir / "main.db").stat().st_mtime_ns
    maintenance.checkpoint(worker.engine)
    assert (settings.data_dir / "main.db").stat().st_mtime_ns > before
    with closing(sqlite3.connect(settings.data_dir / "main.db")) as alone:
        os.truncate(settings.data_dir / "main.db-wal", 0)  # its content is no longer needed
        assert alone.execute("SELECT email FROM user").fetchall() == [("alice@example.com",)]


@pytest.mark.parametrize(("long", "grows"), [(10**12, True), (0, False)], ids=["short", "long"])
def test_a_long_log_begins_anew_in_the_space_that_it_has(
    long: int, grows: bool, factory: Factory, alice: User, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no checkpoint reaches its end, because there is always somebody who reads what is older."""
    monkeypatch.setattr(maintenance, "LONG_WAL", long)
    size_of, sizes = maintenance.wal_bytes, list[int]()
    for _ in range(5):
        with worker.engine.connect() as reader:
            reader.execute(text("SELECT 1 FROM user")).all()
            factory.add(PlanChange(domain_id=0, alias="meanwhile"))

            def end_reading(engine: Engine, reader: Connection = reader) -> int:
                reader.rollback()
                return size_of(engine)

            monkeypatch.setattr(maintenance, "wal_bytes", end_reading)
            maintenance.checkpoint(worker.engine)
        sizes.append(size_of(worker.engine))
    assert (sizes[-1] > sizes[0]) is grows
