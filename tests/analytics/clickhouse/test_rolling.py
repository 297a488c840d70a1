"""Roll-ups in ClickHouse: killed on their way, made anew, with late clicks, and how little a page reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from app.analytics.clickhouse.schema import COLUMNS
from app.analytics.clickhouse.shelves import LATEST, read_shelves

from app.analytics.clickhouse import upkeep
from app.analytics.clickhouse.client import ANSWER_SECONDS, ClickHouse
from app.analytics.ingest import Ingest
from app.analytics.statistics import StatisticsQuery, make_report, query_statistics
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from bench import stored_in_clickhouse
from bench.stored import USER
from tests.analytics.clickhouse.conftest import ALL, BEGIN, SOME, Crash, Crashing, Maintain
from tests.analytics.conftest import take_in
from tests.analytics.test_statistics import plain, questions
from tests.server import wait_for

ASKED = [asked for asked in questions() if asked.type in {"overview", "hour", "country_code"}]


def differing(session: Any, visits: list[Visit]) -> list[str]:
    """Reports that do not equal the plain count."""
    session.rollback()
    reports = [(asked, query_statistics(session, asked)) for asked in ASKED]
    return [asked.type for asked, found in reports if found.rows != plain(visits, asked).rows(asked.type)]


def held(server: ClickHouse) -> int:
    return int(server.query(f"SELECT sum(pageviews) FROM rolled_clicks WHERE number IN ({LATEST})")[0][0])


@pytest.mark.full
def test_a_roll_up_that_is_killed_counts_for_nothing(
    loaded: Any, visits: list[Visit], server: ClickHouse, maintain: Maintain, crashing: Crashing
) -> None:
    """Also where it is made for days that are to be removed. What it left is removed later."""
    for when in (ALL, SOME):
        for allowed in (1, 2, 4, 16):
            with crashing(allowed), pytest.raises(Crash):
                maintain(*when)
            assert not differing(loaded, visits)
        maintain(*when)
        assert not differing(loaded, visits)
    assert held(server) == len(visits)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(upkeep, "MOST_STALE", 1)
        maintain(*SOME)
    stale = f"SELECT count() FROM {{}} WHERE number NOT IN ({LATEST})"
    for table in ("day_value", "day_visitor", "rolled_clicks", "roll_up"):
        wait_for(
            lambda table=table: server.query(stale.format(table)) == [(0,)], f"{table} without leftovers"
        )
    assert not differing(loaded, visits)


def test_late_clicks(
    loaded: Any,
    visits: list[Visit],
    server: ClickHouse,
    ingest: Ingest,
    journal: Journal,
    maintain: Maintain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clicks of removed days are kept under the day on which they come: also under one that is rolled up."""
    maintain(*SOME)
    kept = BEGIN + dt.timedelta(days=10, hours=3)
    monkeypatch.setattr("app.analytics.clickhouse.segment_batches.time.time", lambda: kept.timestamp() + 60)
    late = [visit for visit in visits if visit.time_ms < int(BEGIN.timestamp() + 86_400 * 2) * 1000][:9]
    late = [visit._replace(visitor=f"late-{number}") for number, visit in enumerate(late)]
    assert all(journal.append(encode(visit)) for visit in late)
    take_in(ingest)
    shelves = read_shelves(server, 1)
    assert shelves.late == {int(kept.timestamp()) // 86_400}
    assert shelves.late.isdisjoint(shelves.removed)
    assert not differing(loaded, [*visits, *late])
    maintain(*SOME)
    assert not differing(loaded, [*visits, *late])
    maintain(1, dt.datetime(2026, 11, 20, tzinfo=dt.UTC))
    assert shelves.late <= {*read_shelves(server, 1).removed}
    assert not differing(loaded, [*visits, *late])


def test_a_page_of_a_year_reads_few_rows(
    session: Any, server: ClickHouse, maintain: Maintain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer than there are clicks: of each day only what is asked for, and today's clicks one by one."""
    days, each = 365, 500
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
    year = StatisticsQuery(workspace_id=USER, start=start, end=now.date(), zone=ZoneInfo("UTC"))
    for asked in (
        year,
        replace(year, type="country_code"),
        replace(year, filters={"country_code": "country_code 1"}),
        replace(year, filters={"destination": "destination 1"}),
    ):
        del read[:]
        assert make_report(session, asked).pageviews > 300
        assert each < sum(read) < days * each, asked


def noting(read: list[int]) -> Callable[..., list[tuple[Any, ...]]]:
    """Queries that also note how many rows of tables are read."""

    def query(self: ClickHouse, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        found = self._ask(ANSWER_SECONDS, "query", statement, parameters=values)
        read.append(int(found.summary["read_rows"]))
        return [tuple(row) for row in found.result_rows]

    return query
