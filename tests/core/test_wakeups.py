"""Wake-ups: those of committed rows arrive, and where none can arrive that is known."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, create_engine, insert

from app.core import wakeups
from app.core.config import Settings
from app.core.wakeups import Bell, Carrier, CurrentBell, Listener, start_listener, use_wakeups, wake_on_insert
from tests.server import wait_for

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

METADATA = MetaData()
WATCHED = Table("watched", METADATA, Column("id", Integer, primary_key=True))
OTHER = Table("other", METADATA, Column("id", Integer, primary_key=True))
Hear = Callable[[], tuple[Listener, threading.Event]]


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    METADATA.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def hear(settings: Settings) -> Iterator[Hear]:
    """`hear()`: a live listener of the topic `news`, and the event that it sets."""
    started: list[Listener] = []

    def hear() -> tuple[Listener, threading.Event]:
        use_wakeups(settings)
        heard = threading.Event()
        found = start_listener({"news": heard.set})
        assert found is not None
        started.append(found)
        wait_for(lambda: found.is_live, "the subscription", 10)
        wait_for(heard.is_set, "the call when it becomes live", 10)
        heard.clear()
        return found, heard

    yield hear
    for each in started:
        each.stop()
        each.join(10)
    CurrentBell.bell = None


def test_a_committed_row_wakes_others(hear: Hear, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wakeups.topic_by_table, WATCHED.fullname, "news")
    _, heard = hear()
    with engine.begin() as connection:
        connection.execute(insert(WATCHED), [{"id": 1}])
        assert not heard.wait(0.1), "before the commit"
    assert heard.wait(5)


def test_other_rows_wake_nobody(hear: Hear, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    hear()
    assert CurrentBell.bell is not None
    monkeypatch.setattr(CurrentBell.bell, "ring", lambda *topics: rung.extend(topics))
    wake_on_insert(WATCHED, "news")
    try:
        with engine.begin() as connection:
            connection.execute(insert(OTHER), [{"id": 1}])
            connection.execute(WATCHED.select())
        assert rung == []
        with engine.begin() as connection:
            connection.execute(insert(WATCHED), [{"id": 2}])
            connection.execute(insert(WATCHED), [{"id": 3}])
        assert rung == ["news"]
    finally:
        wakeups.topic_by_table.pop(WATCHED.fullname)


def test_many_rings_are_few_wake_ups(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    carrier = Carrier(settings.database_url)
    sent: list[object] = []
    monkeypatch.setattr(carrier, "publish", sent.append)
    ringing = Bell(carrier)
    for _ in range(1000):
        ringing.ring("news", "other")
    wait_for(lambda: sent and not ringing.topics, "the wake-ups", 5)
    assert len(sent) < 20
    assert set(map(tuple, sent)) == {("news", "other")}  # type: ignore[call-overload]


def test_connections_that_the_server_ends_are_made_anew(hear: Hear, engine: Engine) -> None:
    found, heard = hear()
    assert CurrentBell.bell is not None
    CurrentBell.bell.ring("news")
    assert heard.wait(5)
    heard.clear()
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    with engine.begin() as connection:
        connection.exec_driver_sql(ends)
    assert heard.wait(20), "it is called once when it is live again: some may have been missed"
    assert found.is_live


def test_sqlite_has_no_carrier(settings: Settings) -> None:
    use_wakeups(replace(settings, database_url="sqlite:////tmp/main.db"))
    assert start_listener({"news": lambda: None}) is None
