"""Wake-ups: those of committed rows arrive by either carrier, and where none can arrive that is known."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, create_engine, insert

from app.core.config import Settings
from app.core.wakeups import bell, listener
from app.core.wakeups.bell import Bell, use_wakeups, wake_on_insert
from app.core.wakeups.carriers import make_carrier
from app.core.wakeups.listener import Listener, start_listener
from tests.core.wakeups.conftest import ONLY_POSTGRES
from tests.redis_server import RedisServer
from tests.server import wait_for

CARRIERS = pytest.mark.parametrize("carrier", ["postgresql", "redis"])

METADATA = MetaData()
WATCHED = Table("watched", METADATA, Column("id", Integer, primary_key=True))
OTHER = Table("other", METADATA, Column("id", Integer, primary_key=True))


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = create_engine(database_url)
    METADATA.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def hear() -> Iterator[Callable[..., tuple[Listener, threading.Event]]]:
    """`hear(settings)`: a live listener of the topic `news`, and the event that it sets."""
    started: list[Listener] = []

    def hear(settings: Settings, *, is_live: bool = True) -> tuple[Listener, threading.Event]:
        use_wakeups(settings)
        heard = threading.Event()
        found = start_listener({"news": heard.set})
        assert found is not None
        started.append(found)
        if is_live:
            wait_for(lambda: found.is_live, "the first wake-up", 10)
            heard.clear()  # it is called once when it becomes live
        return found, heard

    yield hear
    for each in started:
        each.stop()
        each.join(10)


@ONLY_POSTGRES
@CARRIERS
def test_a_committed_row_wakes_others(
    carrier: str,
    carried: Callable[[str], Settings],
    hear: Callable[..., tuple[Listener, threading.Event]],
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(bell.topic_by_table, WATCHED.fullname, "news")
    _, heard = hear(carried(carrier))
    with engine.begin() as connection:
        connection.execute(insert(WATCHED), [{"id": 1}])
        assert not heard.wait(0.1), "before the commit"
    assert heard.wait(5)


@ONLY_POSTGRES
def test_other_rows_wake_nobody(
    carried: Callable[[str], Settings],
    hear: Callable[..., tuple[Listener, threading.Event]],
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rung: list[str] = []
    hear(carried("postgresql"))
    assert bell.CurrentBell.bell is not None
    monkeypatch.setattr(bell.CurrentBell.bell, "ring", lambda *topics: rung.extend(topics))
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
        bell.topic_by_table.pop(WATCHED.fullname)


@ONLY_POSTGRES
def test_many_rings_are_few_wake_ups(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    carrier = make_carrier(settings)
    assert carrier is not None
    sent: list[object] = []
    monkeypatch.setattr(carrier, "publish", sent.append)
    ringing = Bell(carrier)
    for _ in range(1000):
        ringing.ring("news", "other")
    wait_for(lambda: sent and not ringing.topics, "the wake-ups", 5)
    assert len(sent) < 20
    assert set(map(tuple, sent)) == {("news", "other")}  # type: ignore[call-overload]


def test_a_redis_that_stops_and_comes_back(
    hear: Callable[..., tuple[Listener, threading.Event]],
    settings: Settings,
    redis_server: RedisServer,
) -> None:
    found, heard = hear(replace(settings, redis_url=redis_server.url))
    redis_server.stop()
    wait_for(lambda: not found.is_live, "the loss", 10)
    assert bell.CurrentBell.bell is not None
    bell.CurrentBell.bell.ring("news")  # into the void; and the caller notices nothing
    redis_server.start()
    wait_for(lambda: found.is_live, "wake-ups again", 30)
    assert heard.is_set(), "what was missed is looked for"


@ONLY_POSTGRES
def test_a_connection_that_the_server_ends_is_made_anew(
    carried: Callable[[str], Settings],
    hear: Callable[..., tuple[Listener, threading.Event]],
    engine: Engine,
) -> None:
    found, heard = hear(carried("postgresql"))
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    with engine.begin() as connection:
        connection.exec_driver_sql(ends)
    assert heard.wait(20), "it is called once when it is live again"
    assert found.is_live


@ONLY_POSTGRES
@pytest.mark.full
def test_behind_pgbouncer_it_is_known_that_nothing_arrives(
    pgbouncer: str,
    settings: Settings,
    hear: Callable[..., tuple[Listener, threading.Event]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "PROBE_ANSWER_SECONDS", 1.0)
    found, _ = hear(replace(settings, database_url=pgbouncer), is_live=False)
    wait_for(lambda: found.is_complaining, "the failed probe", 20)
    assert not found.is_live


def test_sqlite_alone_has_no_carrier(settings: Settings) -> None:
    use_wakeups(replace(settings, database_url="sqlite:////tmp/main.db", redis_url=None))
    assert start_listener({"news": lambda: None}) is None
