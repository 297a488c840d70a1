"""Partitions of clicks on PostgreSQL: made ahead and on demand, dropped when empty; counts never change."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from sqlalchemy import text

from app.analytics import partitions
from app.analytics import upkeep as upkeep_module
from app.analytics.ingest import Ingest
from app.analytics.models import Click
from app.analytics.partitions import Partition, month_of, next_month, start_ms
from app.analytics.periods import DAY_MS, day_number
from app.analytics.statistics import query_statistics
from app.analytics.upkeep import Upkeep
from app.core.config import Settings
from app.journal.codec import Visit
from tests.analytics.conftest import Tables, take_in
from tests.analytics.load import load, questions

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
BEGIN = dt.datetime(2026, 10, 28, tzinfo=dt.UTC)
DAYS = 8  # over the end of a month
LINKS = {1: (10, 11, 12), 2: (20,)}


@pytest.fixture
def visits() -> list[Visit]:
    return load(600, BEGIN, DAYS, LINKS, Random(7))


@pytest.fixture
def make_upkeep(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Upkeep]]:
    monkeypatch.setattr(upkeep_module, "REST_SECONDS", 0.0)
    made: list[Upkeep] = []

    def make() -> Upkeep:
        made.append(Upkeep(settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


def look_after(upkeep: Upkeep, now: dt.datetime) -> None:
    """Does all that is due. The months come after everything that removes rows, once for each `Upkeep`."""
    while upkeep.step(now):
        pass
    assert not upkeep.errors.backed_off((str, tuple))


def found(tables: Tables) -> list[Partition]:
    with tables.engine.connect() as connection:
        return partitions.list_partitions(connection)


def names(tables: Tables) -> list[str]:
    return [each.name for each in found(tables)]


def rows_of(tables: Tables, partition: str) -> int:
    with tables.engine.connect() as connection:
        return connection.scalar(text(f"SELECT count(*) FROM clicks.{partition}")) or 0


def rows_by_month(visits: list[Visit]) -> dict[str, int]:
    months = [f"click_{dt.datetime.fromtimestamp(each.time_ms / 1000, dt.UTC):%Y_%m}" for each in visits]
    return {month: months.count(month) for month in months}


def answers(session: Any) -> list[Any]:
    session.rollback()
    asked = questions(start=BEGIN.date(), end=BEGIN.date() + dt.timedelta(DAYS))
    return [query_statistics(session, each) for each in asked]


def test_the_ingest_makes_the_months_that_its_clicks_need(
    write: Callable[[list[Visit]], None], tables: Tables, visits: list[Visit]
) -> None:
    assert names(tables) == []
    write(visits)
    wanted = rows_by_month(visits)
    assert names(tables) == sorted(wanted) == ["click_2026_10", "click_2026_11"]
    assert {name: rows_of(tables, name) for name in wanted} == wanted
    assert rows_of(tables, "click_default") == 0


def test_a_click_with_a_time_that_no_clock_should_say_is_kept(
    visit: Callable[..., None], ingest: Ingest, tables: Tables
) -> None:
    visit(1, time_ms=1)
    visit(2, time_ms=4_102_444_800_000)  # 2100
    take_in(ingest)
    assert [row[1] for row in tables.rows()] == [1, 2]
    assert rows_of(tables, "click_default") == 2
    assert names(tables) == []


def test_a_month_takes_its_rows_out_of_the_default_partition(
    write: Callable[[list[Visit]], None],
    tables: Tables,
    visits: list[Visit],
    session: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(partitions, "is_plausible", lambda _day: False)
        write(visits)
    before, rows = answers(session), tables.all(Click)
    session.rollback()
    assert rows_of(tables, "click_default") == len(visits)
    write([visits[0]._replace(time_ms=each.time_ms + 1) for each in visits[:9]])
    assert rows_of(tables, "click_default") == 0
    wanted = rows_by_month(visits)
    assert sum(rows_of(tables, name) for name in wanted) == len(visits) + 9
    assert tables.all(Click)[: len(rows)] == rows
    assert before != answers(session)


def test_a_long_read_holds_up_no_click(
    write: Callable[[list[Visit]], None], tables: Tables, visits: list[Visit]
) -> None:
    """As of a dump, which reads every partition until it is done."""
    with tables.engine.connect() as reader:
        reader.execute(text("SELECT count(*) FROM clicks.click")).all()
        write(visits)
        assert rows_of(tables, "click_default") == len(visits) == len(tables.rows())
        assert names(tables) == []
    write(visits[:1])
    counts = {name: rows_of(tables, name) for name in (*names(tables), "click_default")}
    month = f"click_{dt.datetime.fromtimestamp(visits[0].time_ms / 1000, dt.UTC):%Y_%m}"
    assert counts[month] == rows_by_month(visits)[month] + 1
    assert sum(counts.values()) == len(visits) + 1


def test_the_upkeep_makes_the_next_months(make_upkeep: Callable[[], Upkeep], tables: Tables) -> None:
    for now, wanted in (
        (dt.datetime(2026, 11, 30, tzinfo=dt.UTC), ["2026_11", "2026_12", "2027_01"]),
        (dt.datetime(2026, 12, 1, tzinfo=dt.UTC), ["2026_11", "2026_12", "2027_01", "2027_02"]),
    ):
        look_after(make_upkeep(), now)
        assert names(tables) == [f"click_{each}" for each in wanted]
    ranges = found(tables)
    assert all(one.last_ms == other.first_ms for one, other in itertools.pairwise(ranges))
    assert ranges[0].first_ms == start_ms(dt.date(2026, 11, 1))


def test_a_month_is_dropped_when_its_last_day_is_pruned_and_reports_stay(
    write: Callable[[list[Visit]], None],
    make_upkeep: Callable[[], Upkeep],
    tables: Tables,
    visits: list[Visit],
    session: Any,
) -> None:
    write(visits)
    before = answers(session)
    session.rollback()
    # ninety days after the last of October: its day is kept, and so is the month
    look_after(make_upkeep(), dt.datetime(2027, 1, 29, 12, tzinfo=dt.UTC))
    assert "click_2026_10" in names(tables)
    assert rows_of(tables, "click_2026_10") > 0
    look_after(make_upkeep(), dt.datetime(2027, 1, 30, 12, tzinfo=dt.UTC))
    assert "click_2026_10" not in names(tables)
    assert "click_2026_11" in names(tables)
    assert answers(session) == before
    assert min(row[0] for row in tables.rows()) >= start_ms(dt.date(2026, 11, 1))


def test_a_month_with_a_row_that_no_day_knows_is_not_dropped(
    write: Callable[[list[Visit]], None], tables: Tables, visits: list[Visit]
) -> None:
    write(visits)
    october = found(tables)[0]
    assert not partitions.drop_emptied(tables.engine, october)
    assert found(tables)[0] == october


def test_a_drop_does_not_wait_for_a_report_and_a_report_not_for_a_drop(
    write: Callable[[list[Visit]], None],
    make_upkeep: Callable[[], Upkeep],
    tables: Tables,
    visits: list[Visit],
) -> None:
    write(visits)
    later = dt.datetime(2027, 3, 1, tzinfo=dt.UTC)
    with tables.engine.begin() as connection:
        partitions.make_months(connection, [dt.date(2027, month, 1) for month in (3, 4, 5)])
    with tables.engine.connect() as reader:
        reader.execute(text("SELECT count(*) FROM clicks.click")).all()
        look_after(make_upkeep(), later)
        assert {"click_2026_10", "click_2026_11"} <= set(names(tables))  # emptied, but in use
    look_after(make_upkeep(), later)
    assert not {"click_2026_10", "click_2026_11"} & set(names(tables))


def test_a_late_click_of_a_dropped_month_is_counted(
    write: Callable[[list[Visit]], None],
    make_upkeep: Callable[[], Upkeep],
    tables: Tables,
    visits: list[Visit],
    session: Any,
) -> None:
    """A journal of long ago, rescued from a machine that was lost."""
    write(visits)
    before = answers(session)[0].pageviews
    later = dt.datetime(2027, 3, 1, tzinfo=dt.UTC)
    session.rollback()
    look_after(make_upkeep(), later)
    assert "click_2026_10" not in names(tables)
    late = next(each for each in visits if each.workspace_id == 1 and not each.is_bot)
    write([late])
    assert answers(session)[0].pageviews == before + 1
    session.rollback()
    look_after(make_upkeep(), later)
    assert answers(session)[0].pageviews == before + 1
    assert tables.rows() == []


def test_two_processes_that_make_the_same_month_make_one(tables: Tables) -> None:
    november = dt.date(2026, 11, 1)
    with tables.engine.begin() as one:
        partitions.make_months(one, [november])
        with tables.engine.connect() as other:
            assert partitions.list_partitions(other) == []
    with tables.engine.begin() as other:
        partitions.make_months(other, [november, dt.date(2026, 12, 1)])
    assert names(tables) == ["click_2026_11", "click_2026_12"]


def test_months_follow_each_other(database: str) -> None:
    months = [dt.date(2026, 12, 1)]
    for _ in range(14):
        months.append(next_month(months[-1]))
    assert months[1:3] == [dt.date(2027, 1, 1), dt.date(2027, 2, 1)]
    assert months[-1] == dt.date(2028, 2, 1)
    assert month_of(dt.date(2028, 2, 29)) == months[-1]


def test_reports_read_no_month_outside_their_period(
    write: Callable[[list[Visit]], None], tables: Tables, visits: list[Visit]
) -> None:
    write(visits)
    first, last = (day_number(dt.date(2026, 11, day)) * DAY_MS for day in (2, 4))
    asked = "EXPLAIN SELECT count(*) FROM clicks.click WHERE link_id = 10 AND time_ms >= %s AND time_ms < %s"
    with tables.engine.connect() as connection:
        plan = "\n".join(row[0] for row in connection.exec_driver_sql(asked, (first, last)))
    assert "click_2026_11" in plan
    assert "click_2026_10" not in plan
    assert "click_default" not in plan
