"""Roll-ups in ClickHouse: killed on their way, made anew, with late clicks, and how little a page reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.analytics.clickhouse import upkeep, writer
from app.analytics.clickhouse.client import ANSWER_SECONDS, ClickHouse, clickhouse_of
from app.analytics.clickhouse.tables import COLUMNS, OldTables, make_statement, make_tables, removed_shelves
from app.analytics.clickhouse.tables import TABLES as STATEMENTS
from app.analytics.ingest import Ingest
from app.analytics.statistics import StatisticsQuery, make_report, query_statistics
from app.analytics.upkeep import open_upkeep
from app.core.config import Settings
from app.core.extensions import db
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from bench import stored_in_clickhouse
from bench.stored import USER
from tests.analytics.conftest import Crash, take_in
from tests.analytics.load import BEGIN, LINKS, load, plain, questions

BEGIN_DAY = int(BEGIN.timestamp()) // 86_400
# how many days are kept, and when: nothing is removed, and five days are
ALL, SOME = (400, dt.datetime(2026, 11, 10, tzinfo=dt.UTC)), (10, dt.datetime(2026, 11, 7, tzinfo=dt.UTC))
ASKED = [asked for asked in questions() if asked.type in {"overview", "hour", "country_code"}]
Maintain = Callable[[int, dt.datetime], None]


@pytest.fixture
def database_url(database_url: str, clickhouse_url: str, request: pytest.FixtureRequest) -> str:
    request.node.add_marker(pytest.mark.settings(CLICKS_URL=clickhouse_url))
    return database_url


@pytest.fixture
def server(clickhouse_url: str) -> ClickHouse:
    return clickhouse_of(clickhouse_url)


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return load(400, BEGIN, 12, LINKS, Random(4))


@pytest.fixture
def maintain(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Maintain:
    """`maintain(days, now)`: all that is due. Nothing waits for pages that may still be read."""
    monkeypatch.setattr(upkeep, "READ_SECONDS", 0)

    def run(retention: int, now: dt.datetime) -> None:
        work = open_upkeep(replace(settings, click_retention_days=retention))
        while work.step(now):
            pass
        work.close()
        db.session.rollback()

    return run


@contextmanager
def crashing(allowed: int) -> Iterator[None]:
    """After so many statements that change something comes a kill."""
    real, calls = ClickHouse.work, []

    def work(*arguments: Any, **settings: Any) -> None:
        if len(calls) == allowed:
            raise Crash
        calls.append(arguments)
        real(*arguments, **settings)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ClickHouse, "work", work)
        yield


def differing(session: Any, visits: list[Visit]) -> list[str]:
    """Reports that do not equal the plain count."""
    session.rollback()
    reports = [(asked, query_statistics(session, asked)) for asked in ASKED]
    return [asked.type for asked, found in reports if found.rows != plain(visits, asked).rows(asked.type)]


@pytest.mark.full
def test_a_roll_up_that_is_killed_counts_for_nothing(
    loaded: Any, visits: list[Visit], server: ClickHouse, maintain: Maintain
) -> None:
    """Also where it is made for days that are to be removed."""
    for when in (ALL, SOME):
        for allowed in (7, 8, 20):  # six of them make the tables
            with crashing(allowed), pytest.raises(Crash):
                maintain(*when)
            assert not differing(loaded, visits)
        maintain(*when)
        assert not differing(loaded, visits)
    assert removed_shelves(server) == [0, *range(BEGIN_DAY, BEGIN_DAY + 5)]
    assert server.query(f"SELECT count() FROM click WHERE shelf < {BEGIN_DAY + 5}") == [(0,)]


def test_late_clicks(
    loaded: Any,
    visits: list[Visit],
    server: ClickHouse,
    ingest: Ingest,
    journal: Journal,
    maintain: Maintain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clicks of a removed day are kept on the shelf of the day on which they come; others come to a day that is
    rolled up, and sooner than those that are there."""
    maintain(*SOME)
    shelf = BEGIN_DAY + 10
    monkeypatch.setattr(writer, "today", lambda: shelf)
    late = [visit for visit in visits if visit.time_ms // 86_400_000 < BEGIN_DAY + 2][:9]
    late = [visit._replace(visitor=f"late-{number}") for number, visit in enumerate(late)]
    [again, *_] = [
        visit for visit in visits if visit.time_ms // 86_400_000 == shelf and visit.workspace_id == 1
    ]
    late.append(again._replace(time_ms=shelf * 86_400_000))
    assert all(journal.append(encode(visit)) for visit in late)
    take_in(ingest)
    found = server.query("SELECT DISTINCT shelf FROM click WHERE intDiv(time_ms, 86400000) != shelf")
    assert found == [(shelf,)]
    visits = [*visits, *late]
    assert not differing(loaded, visits)
    maintain(*SOME)
    assert not differing(loaded, visits)
    maintain(1, dt.datetime(2026, 11, 20, tzinfo=dt.UTC))
    assert shelf in removed_shelves(server)
    assert not differing(loaded, visits)


def test_a_page_of_many_days_reads_few_rows(
    session: Any,
    server: ClickHouse,
    maintain: Maintain,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Fewer than there are clicks: of each day only what is asked for, and today's clicks one by one.

    The days are those of a year with the long tests, else of its fifth part.
    """
    days, each = (365, 500) if request.config.option.full else (73, 1000)
    now = dt.datetime.now(dt.UTC)
    today = int(now.timestamp()) // 86_400
    for first in range(today - days + 1, today + 1, 73):
        drawn = " UNION ALL ".join(
            stored_in_clickhouse.drawn(day, each, 100) for day in range(first, first + 73)
        )
        server.work(f"INSERT INTO click ({', '.join(COLUMNS)}) {drawn}")
    maintain(400, now)
    read: list[int] = []
    monkeypatch.setattr(ClickHouse, "query", noting(read))
    start = now.date() - dt.timedelta(days - 1)
    period = StatisticsQuery(workspace_id=USER, start=start, end=now.date(), zone=ZoneInfo("UTC"))
    for asked in (
        period,
        replace(period, type="country_code"),
        replace(period, filters={"country_code": "country_code 1"}),
        replace(period, filters={"destination": "destination 1"}),
    ):
        del read[:]
        assert make_report(session, asked).pageviews > days
        assert each < sum(read) < days * each, asked


def noting(read: list[int]) -> Callable[..., list[tuple[Any, ...]]]:
    """Queries that also note how many rows of tables are read."""

    def query(self: ClickHouse, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        found = self._ask(ANSWER_SECONDS, "query", statement, parameters=values)
        read.append(int(found.summary["read_rows"]))
        return [tuple(row) for row in found.result_rows]

    return query


def test_tables_of_an_earlier_version_are_refused(server: ClickHouse) -> None:
    server.work("CREATE TABLE day_value (shelf UInt16) ENGINE = MergeTree ORDER BY shelf")
    with pytest.raises(OldTables, match="name an empty one in CLICKS_URL"):
        make_tables(server)


def test_tables_are_replicated_where_the_database_is() -> None:
    click, *_ = (make_statement(each, is_replicated=True) for each in STATEMENTS)
    assert "ENGINE = ReplicatedMergeTree PARTITION BY" in click
    assert " replicated_deduplication_window = 10000" in click
