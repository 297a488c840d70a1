"""Clicks come into ClickHouse exactly once, whatever is killed, and wait in the journal while it is away."""

from __future__ import annotations

import datetime as dt
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from app.accounts.models import User
from app.analytics.clickhouse import writer
from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.ingest import Ingest
from app.core.config import Settings
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import Crash, Tables, take_in
from tests.analytics.load import load
from tests.clickhouse_server import ClickHouseServer
from tests.migrations import environ
from tests.server import wait_for

BEGIN = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


@pytest.fixture
def store() -> str:
    return "clickhouse"


@pytest.fixture
def visits() -> list[Visit]:
    return load(60, BEGIN, 4, {1: (10, 11)}, Random(8))


def there(settings: Settings) -> Counter[tuple[int, int]]:
    """(time, link) of each click in ClickHouse."""
    found = clickhouse_of(settings.clickhouse_url or "").query("SELECT time_ms, link_id FROM click")
    return Counter((row[0], row[1]) for row in found)


def summed(settings: Settings) -> list[int]:
    server = clickhouse_of(settings.clickhouse_url or "")
    return [
        int(server.query(f"SELECT sum(pageviews) FROM quarter WHERE link {which} 0")[0][0])
        for which in ("!=", "=")
    ]


def written(visits: list[Visit]) -> Counter[tuple[int, int]]:
    return Counter((visit.time_ms, visit.link_id) for visit in visits)


CRASHES: dict[str, tuple[str, bool]] = {
    "before the insert": ("insert_clicks", False),
    "after the insert": ("insert_clicks", True),
    "before the position": ("move_offset", False),
}


@pytest.mark.parametrize(("name", "is_after"), CRASHES.values(), ids=CRASHES.keys())
def test_a_batch_that_is_broken_off_comes_once(
    name: str,
    is_after: bool,
    settings: Settings,
    journal: Journal,
    visits: list[Visit],
    make_ingest: Callable[[], Ingest],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert all(journal.append(encode(visit)) for visit in visits[:40])
    real = getattr(writer, name)

    def crash(*arguments: Any) -> None:
        if is_after:
            real(*arguments)
        raise Crash

    monkeypatch.setattr(writer, name, crash)
    with pytest.raises(Crash):
        take_in(make_ingest())
    monkeypatch.setattr(writer, name, real)
    assert all(journal.append(encode(visit)) for visit in visits[40:])  # the segment has more by then
    take_in(make_ingest())
    assert there(settings) == written(visits)
    assert summed(settings) == [len(visits)] * 2


def test_a_part_of_a_batch_is_completed(
    settings: Settings,
    journal: Journal,
    visits: list[Visit],
    make_ingest: Callable[[], Ingest],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch has a partition for each day; the second one is killed."""
    assert all(journal.append(encode(visit)) for visit in visits)
    ingest = make_ingest()
    server = clickhouse_of(settings.clickhouse_url or "")
    real, calls = server.insert, []

    def insert(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise Crash
        real(*arguments)

    monkeypatch.setattr(server, "insert", insert)
    with pytest.raises(Crash):
        take_in(ingest)
    monkeypatch.setattr(server, "insert", real)
    assert 0 < sum(there(settings).values()) < len(visits)
    take_in(make_ingest())
    assert there(settings) == written(visits)


def test_clicks_wait_while_clickhouse_is_away(
    settings: Settings,
    journal: Journal,
    visits: list[Visit],
    ingest: Ingest,
    tables: Tables,
    clickhouse_server: ClickHouseServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.analytics.clickhouse.client.REST_SECONDS", 0.01)
    assert all(journal.append(encode(visit)) for visit in visits[:30])
    take_in(ingest)
    clickhouse_server.kill()
    try:
        assert all(journal.append(encode(visit)) for visit in visits[30:])
        take_in(ingest)
        assert sum(tables.counters().values()) == sum(not visit.is_bot for visit in visits)
        assert "Statistics are not available" in ingest.status().waits_for
        assert ingest.status().rows.waiting_bytes > 0
    finally:
        clickhouse_server.start()
    wait_for(lambda: ingest.step() or there(settings) == written(visits), "the clicks")
    take_in(ingest)
    assert there(settings) == written(visits)
    assert ingest.status().waits_for == ""


def test_clicks_of_limited_links_come_once(
    settings: Settings,
    journal: Journal,
    make_ingest: Callable[[], Ingest],
    app: Any,
    alice: User,
    make_link: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = make_link(alice, url="few", location_url="https://example.com/", clicks_limit=5)
    client = app.test_client()
    for _ in range(3):
        assert (
            client.get(f"/{link.url}", headers={"User-Agent": "Mozilla/5.0 Firefox/140.0"}).status_code == 302
        )
    real = writer.finish_batch

    def crash(*_arguments: Any) -> None:
        raise Crash

    monkeypatch.setattr(writer, "finish_batch", crash)
    with pytest.raises(Crash):
        take_in(make_ingest())
    monkeypatch.setattr(writer, "finish_batch", real)
    ingest = make_ingest()
    take_in(ingest)
    take_in(ingest)
    assert sum(there(settings).values()) == 3


WORKER = """
import sys
from pathlib import Path
from app.core.config import load_settings
from app.analytics.clickhouse import writer as elsewhere
from app.analytics.ingest import Ingest
elsewhere.REST_SECONDS, elsewhere.BATCH_BYTES = 0, 16384
ingest = Ingest(load_settings())
print("ready", flush=True)
while True:
    ingest.step()
"""


@pytest.fixture
def start_ingest(settings: Settings, database_url: str) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    values = environ(settings.data_dir, database_url, CLICKS_URL=settings.clickhouse_url or "")

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WORKER]
        root = Path(__file__).resolve().parents[3]
        started.append(subprocess.Popen(command, cwd=root, env=values, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout is not None
        assert started[-1].stdout.readline() == "ready\n"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.full
def test_kills_of_the_ingest(
    settings: Settings, journal: Journal, start_ingest: Callable[[], subprocess.Popen[str]]
) -> None:
    """Each is killed once it has inserted something more, at whatever it does then."""
    visits = load(2000, BEGIN, 1, {1: (10, 11)}, Random(9))
    rng = Random(3)
    count = 0
    for round_ in range(4):
        some = visits[round_ * 500 : (round_ + 1) * 500]
        assert all(journal.append(encode(visit)) for visit in some)
        process = start_ingest()
        aim = count + rng.randrange(1, 400)
        wait_for(lambda aim=aim: sum(there(settings).values()) >= aim, "some clicks")  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        process.wait()
        count = sum(there(settings).values())
    process = start_ingest()
    wait_for(lambda: sum(there(settings).values()) >= len(visits), "all clicks")
    assert there(settings) == written(visits)
    assert summed(settings) == [len(visits)] * 2
