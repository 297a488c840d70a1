"""Upkeep: reports stay the same when clicks are rolled up, and when their rows are pruned."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.analytics import breakdown, rollup, rollup_models, tally
from app.analytics import ingest as ingest_module
from app.analytics import upkeep as module
from app.analytics.ingest import Ingest
from app.analytics.models import Click
from app.analytics.periods import DAY_MS
from app.analytics.rollup_models import LinkValue, OwnerDay, Seen
from app.analytics.scope import add_counts
from app.analytics.statistics import (
    StatisticsQuery,
    StatisticsReport,
    StatisticsResult,
    hours_of_week,
    make_report,
    query_statistics,
)
from app.analytics.top_links import by_link
from app.analytics.upkeep import Upkeep, unrolled_before, with_rows_before
from app.core.config import Settings
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from app.links.models import Link
from tests.analytics.conftest import Tables, take_in
from tests.analytics.load import BEGIN, DAYS, LINKS, load, plain, questions
from tests.analytics.test_kills import Tallies, wait_until
from tests.clients import Api
from tests.journal.children import Child, forks

pytestmark = pytest.mark.databases
SOON = BEGIN + dt.timedelta(days=DAYS, hours=2)
# by then the first four days are older than 90 days
LATER = BEGIN + dt.timedelta(days=94, hours=2)
PRUNED = 4
PRUNED_AT_ONCE = 15
SCOPES: list[dict[str, Any]] = [{}, {"link_ids": (10,)}, {"link_ids": (10, 11, 12)}, {"bots": True}]
ZONES = ("UTC", "Asia/Kathmandu")
Write = Callable[[list[Visit]], None]


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return load(600, BEGIN, DAYS, LINKS, Random(5))


@pytest.fixture
def upkeep(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upkeep]:
    monkeypatch.setattr(rollup_models, "MANY", 12)  # some of the links' days have as many, others fewer
    monkeypatch.setattr(module, "REST_SECONDS", 0.0)
    # small, so that a day takes many steps of each kind
    monkeypatch.setattr(tally, "READ", 12)
    monkeypatch.setattr(rollup, "TALLIED", 10)
    monkeypatch.setattr(rollup, "WRITTEN", 15)
    monkeypatch.setattr(rollup, "PRUNED", PRUNED_AT_ONCE)
    monkeypatch.setattr(rollup, "LINKS", 2)
    upkeep = Upkeep(settings)
    yield upkeep
    upkeep.close()


def until_done(upkeep: Upkeep, now: dt.datetime) -> None:
    while upkeep.step(now):
        pass


def asked_everywhere(zones: tuple[str, ...] = ZONES) -> list[StatisticsQuery]:
    return [
        asked
        for zone in zones
        for scope in SCOPES
        for asked in questions(
            zone=ZoneInfo(zone), start=BEGIN.date(), end=BEGIN.date() + dt.timedelta(9), **scope
        )
    ]


def answers(session: scoped_session[Session], asked: list[StatisticsQuery]) -> list[StatisticsResult]:
    session.rollback()
    return [query_statistics(session, each) for each in asked]


def wrong(session: Any, visits: list[Visit], asked: list[StatisticsQuery]) -> list[StatisticsQuery]:
    """The queries whose answers do not equal a plain count."""
    return [
        each
        for each, found in zip(asked, answers(session, asked), strict=True)
        if found.rows != plain(visits, each).rows(each.type, over_links=each.link_ids is not None)
    ]


def test_reports_stay_the_same_when_days_are_rolled_up(
    write: Write,
    upkeep: Upkeep,
    tables: Tables,
    visits: list[Visit],
    session: Any,
) -> None:
    write(visits)
    asked = asked_everywhere()
    before = answers(session, asked)
    until_done(upkeep, SOON)
    assert {rolled == count for count, rolled in tables.all(OwnerDay, "visits", "rolled")} == {True}
    per_link = {*tables.all(LinkValue, "link_id", "day")}
    assert set() < per_link < {(visit.link_id, visit.time_ms // DAY_MS) for visit in visits}
    assert answers(session, asked) == before
    # shows that the roll-ups are read, not the rows
    with tables.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {prefix(tables)}owner_value SET pageviews = pageviews + 1000")
    [hosts] = [each for each in questions() if each.type == "referrer_host"]
    assert answers(session, [hosts])[0].rows[0]["pageviews"] > 1000


def prefix(tables: Tables) -> str:
    return "clicks." if tables.engine.dialect.name == "postgresql" else ""


def test_a_late_visit_is_in_the_reports_at_once_and_in_the_roll_ups_again(
    write: Write, upkeep: Upkeep, visits: list[Visit], session: Any, tables: Tables
) -> None:
    write(visits[:-40])
    until_done(upkeep, SOON)
    write(visits[-40:])
    for _ in range(2):
        assert wrong(session, visits, asked_everywhere(("Asia/Kathmandu",))) == []
        until_done(upkeep, SOON)
    assert {rolled == count for count, rolled in tables.all(OwnerDay, "visits", "rolled")} == {True}


def test_a_visit_that_comes_while_its_day_is_rolled_up_is_not_missed(
    write: Write, upkeep: Upkeep, visits: list[Visit], session: Any
) -> None:
    write(visits[:-40])
    for _ in range(6):
        assert upkeep.step(SOON)
    write(visits[-40:])
    until_done(upkeep, SOON)
    assert wrong(session, visits, asked_everywhere(("UTC",))) == []


def test_rows_go_after_their_time_and_reports_stay(
    write: Write,
    upkeep: Upkeep,
    tables: Tables,
    visits: list[Visit],
    session: Any,
) -> None:
    write(visits)
    asked = asked_everywhere(("UTC",))
    before = answers(session, asked)
    until_done(upkeep, LATER)
    kept = int(BEGIN.timestamp()) * 1000 + PRUNED * DAY_MS
    assert {time_ms >= kept for (time_ms,) in tables.all(Click, "time_ms")} == {True}
    assert len(tables.all(Click, "id")) == sum(visit.time_ms >= kept for visit in visits)
    assert {day * DAY_MS >= kept for (day,) in tables.all(Seen, "day")} == {True}
    assert answers(session, asked) == before
    check_which_days_are_still_known(session, visits)
    check_answers_with_one_filter(session, visits)


@pytest.fixture
def links_of_alice(alice: User, make_link: Callable[..., Link]) -> None:
    for link_id in (10, 11):
        make_link(alice, f"link-{link_id}", id=link_id)


@pytest.fixture
def crowded() -> list[Visit]:
    """Clicks on two days long ago. Some visitors have more rows than a step removes."""
    visits = load(160, BEGIN, 2, {1: (10, 11)}, Random(6))
    often = ("one", "bot")
    return [
        visit._replace(visitor=f"{often[visit.is_bot]} {visit.time_ms // DAY_MS}") if number % 3 else visit
        for number, visit in enumerate(visits)
    ]


def differing(session: scoped_session[Session], visits: list[Visit]) -> list[tuple[object, ...]]:
    """Answers of any function, for all kinds of queries, that differ from a plain count."""
    session.rollback()
    wrong: list[tuple[object, ...]] = []
    first, last = BEGIN.date(), BEGIN.date() + dt.timedelta(2)
    for scope in (*SCOPES, {"filters": {"country_code": "DE"}}):
        for each in questions(start=first, end=last, **scope):
            found, many = query_statistics(session, each), each.link_ids is not None
            known = replace(each, start=found.covers[0] if found.covers else first)
            counted = plain(visits, known)
            rows = counted.rows(each.type, over_links=many)
            total = counted.count(lambda _: "all", over_links=many).get("all", (0, 0))
            is_same = found.rows[-len(rows) :] == rows if rows else not any_of(found.rows)
            if not is_same or (found.pageviews, found.visitors) != total:
                wrong.append((scope, each.type, found.covers))
            if make_report(session, each) != StatisticsReport(found.rows, found.pageviews, found.covers):
                wrong.append((scope, each.type, "report"))
        week = add_counts(cell for hours in hours_of_week(session, each) for cell in hours)
        if week != total:
            wrong.append((scope, "hours of the week"))
        links = {id_: tuple(count) for id_, count in by_link(session, each)}
        if links != counted.count(lambda visit: visit.link_id, over_links=True):
            wrong.append((scope, "links"))
    return wrong


def any_of(rows: list[dict[str, Any]]) -> bool:
    return any(row["pageviews"] for row in rows)


@pytest.mark.full
@pytest.mark.usefixtures("links_of_alice")
def test_at_every_step_reports_equal_a_plain_count(
    write: Write,
    upkeep: Upkeep,
    tables: Tables,
    crowded: list[Visit],
    session: Any,
) -> None:
    """No step removes more than a few rows, however many a day or a visitor has."""
    write(crowded)
    until_done(upkeep, SOON)
    left, steps = len(crowded), 0
    # in that time zone a part of a day can't be split off once rows are removed; its answer no longer changes
    elsewhere = questions(zone=ZoneInfo("Asia/Kathmandu"), start=BEGIN.date(), end=BEGIN.date())
    afterwards: list[list[StatisticsResult]] = []
    while upkeep.step(LATER):
        gone, left = left - len(tables.all(Click, "id")), len(tables.all(Click, "id"))
        assert gone <= PRUNED_AT_ONCE
        steps += 1
        if gone or steps % 5 == 0:
            assert differing(session, crowded) == []
        if {each for (each,) in tables.all(OwnerDay, "is_pruned")} == {True}:
            afterwards.append(answers(session, elsewhere))
    assert afterwards.count(afterwards[0]) == len(afterwards) > 2
    assert left == 0
    assert steps > 2 * len(crowded) / PRUNED_AT_ONCE


@pytest.mark.full
@pytest.mark.usefixtures("links_of_alice")
def test_after_a_kill_between_two_steps_reports_equal_a_plain_count(
    write: Write,
    upkeep: Upkeep,
    settings: Settings,
    tables: Tables,
    crowded: list[Visit],
    session: Any,
) -> None:
    write(crowded)
    until_done(upkeep, SOON)
    chance, left = Random(2), len(crowded)
    while tables.all(Click, "id"):
        life = Upkeep(settings)
        for _ in range(chance.randint(8, 30)):
            life.step(LATER)
        life.close()
        if len(tables.all(Click, "id")) < left:
            left = len(tables.all(Click, "id"))
            assert differing(session, crowded) == []


@pytest.mark.usefixtures("links_of_alice")
def test_rows_that_go_while_a_report_is_made_are_in_it_once(
    write: Write,
    upkeep: Upkeep,
    crowded: list[Visit],
    tables: Tables,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The report reads roll-ups before rows move there, and the rows after that."""
    write(crowded)
    until_done(upkeep, SOON)
    collect = breakdown.collect_rolled

    def collect_and_work(*arguments: Any) -> None:
        collect(*arguments)
        for _ in range(12):
            upkeep.step(LATER)

    monkeypatch.setattr(breakdown, "collect_rolled", collect_and_work)
    begin, end = BEGIN.date(), BEGIN.date() + dt.timedelta(1)
    asked = StatisticsQuery(workspace_id=1, start=begin, end=end, zone=ZoneInfo("UTC"), type="referrer_path")
    expected = plain(crowded, asked).rows(asked.type)
    path = f"/statistics?start_date={begin}&end_date={end}&type={asked.type}"
    answered = 0
    while tables.all(Click, "id"):
        assert api.get(path).json["data"] == expected
        answered += 1
    assert answered > 2


def test_a_day_that_has_fewer_rows_than_it_says_is_not_waited_for(
    write: Write, upkeep: Upkeep, tables: Tables, visits: list[Visit]
) -> None:
    write(visits)
    with tables.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {prefix(tables)}owner_day SET visits = visits + 3")
        connection.exec_driver_sql(f"DELETE FROM {prefix(tables)}click WHERE workspace_id = 2")
    until_done(upkeep, LATER)
    old = BEGIN.date() + dt.timedelta(PRUNED)
    days = tables.all(OwnerDay, "day", "visits")
    assert {visits for day, visits in days if day * DAY_MS < to_ms(old)} == {0}


def to_ms(day: dt.date) -> int:
    return int(dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()) * 1000


def test_late_visits_of_a_day_whose_rows_are_gone_are_added(
    write: Write, upkeep: Upkeep, tables: Tables, visits: list[Visit], session: Any
) -> None:
    write(visits)
    until_done(upkeep, LATER)
    late = [visits[0]._replace(time_ms=int(BEGIN.timestamp()) * 1000 + n, workspace_id=1, link_id=10, is_bot=0, country_code="DE", visitor=f"late {n}") for n in range(7)]  # fmt: skip
    write(late)
    filtered = questions(
        start=BEGIN.date(), end=BEGIN.date() + dt.timedelta(9), filters={"country_code": "DE"}
    )
    known = [each for each in filtered if each.type in {"overview", "country_code"}]
    for _ in range(2):
        assert wrong(session, [*visits, *late], [*asked_everywhere(("UTC",)), *known]) == []
        until_done(upkeep, LATER)
    assert len(tables.all(Click, "id")) == sum(day >= PRUNED for day in days_after_begin(visits))


def days_after_begin(visits: list[Visit]) -> list[int]:
    return [(visit.time_ms - int(BEGIN.timestamp()) * 1000) // DAY_MS for visit in visits]


def check_which_days_are_still_known(session: Any, visits: list[Visit]) -> None:
    begin = BEGIN.date()
    first, last = begin + dt.timedelta(PRUNED), begin + dt.timedelta(9)
    filters: Any = {"country_code": "DE"}
    for each in questions(start=begin, end=last, filters=filters):
        if each.type in {"overview", "country_code"}:
            continue  # the roll-ups know these
        found = answers(session, [each])[0]
        known = plain(visits, StatisticsQuery(**{**each.__dict__, "start": first}))
        assert found.covers == (first, last)
        assert found.pageviews == sum(row["pageviews"] for row in known.rows("overview"))
        assert found.rows == known.rows(each.type)
    two: Any = {**filters, "device_type": "mobile"}
    common: Any = {"workspace_id": 1, "start": begin}
    [some] = answers(session, [StatisticsQuery(**common, end=last, zone=ZoneInfo("UTC"), filters=two)])
    known = plain(visits, StatisticsQuery(**common, end=last, zone=ZoneInfo("UTC"), filters=two))
    assert some.covers == (first, last)
    assert some.rows[PRUNED:] == known.rows("overview")[PRUNED:]
    assert {row["pageviews"] for row in some.rows[:PRUNED]} == {0}
    [none] = answers(session, [StatisticsQuery(**common, end=begin, zone=ZoneInfo("UTC"), filters=two)])
    assert (none.pageviews, none.covers) == (0, (begin + dt.timedelta(1), begin))
    # east of Greenwich the first of these days begins earlier
    [east] = answers(
        session, [StatisticsQuery(**common, end=last, zone=ZoneInfo("Asia/Kolkata"), filters=two)]
    )
    assert east.covers == (first + dt.timedelta(1), last)


ONE_FILTER: dict[str, dict[str, str | None]] = {
    "a country": {"country_code": "DE"},
    "an unknown country": {"country_code": None},
    "a device, which is of the agent": {"device_type": "mobile"},
    "a page, which is two texts": {"referrer_path": "news.example/story"},
    "no page": {"referrer_path": None},
    "what no click has": {"utm_source": "nobody's"},
}


def check_answers_with_one_filter(session: Any, visits: list[Visit]) -> None:
    """By day and by its own dimension, for the whole period, also of days whose single clicks are gone."""
    days = {"start": BEGIN.date(), "end": BEGIN.date() + dt.timedelta(9)}
    for filters in ONE_FILTER.values():
        for links in (None, (10,), (10, 11)):
            asked = questions(**days, link_ids=links, filters=filters)
            asked = [each for each in asked if each.type in {"overview", *filters}]
            assert wrong(session, visits, asked) == []
            for each, found in zip(asked, answers(session, asked), strict=True):
                assert found.covers is None
                assert make_report(session, each).rows == found.rows
        # in that zone a pruned day belongs where its noon is
        there, utc = answers(
            session,
            [
                StatisticsQuery(workspace_id=1, **days, zone=ZoneInfo(zone), filters=filters)
                for zone in ("Asia/Kathmandu", "UTC")
            ],
        )
        assert there.rows[: PRUNED - 1] == utc.rows[: PRUNED - 1]
        assert there.covers is None


def test_what_is_due_is_found_by_an_index(session: scoped_session[Session]) -> None:
    """The index is used, however many days have no work left."""
    connection = session.connection()
    tell = "EXPLAIN QUERY PLAN"
    if connection.dialect.name == "postgresql":
        tell = "EXPLAIN (COSTS OFF)"
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")  # PostgreSQL prefers it for small tables
    wanted = {"ix_owner_day_with_rows": with_rows_before(5), "ix_owner_day_unrolled": unrolled_before(5)}
    for index, statement in wanted.items():
        plain = statement.compile(connection, compile_kwargs={"literal_binds": True})
        steps = [str(row[-1]) for row in connection.exec_driver_sql(f"{tell} {plain}")]
        assert any(index in step for step in steps), steps
        assert not [step for step in steps if "Sort" in step or "TEMP B-TREE" in step]


@forks
@pytest.mark.full
def test_kills(
    settings: Settings,
    journal: Journal,
    visits: list[Visit],
    session: Any,
    upkeep: Upkeep,
    tables: Tables,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Processes that ingest, and those that roll up and prune, are killed at any moment."""
    monkeypatch.setattr(ingest_module, "ROW_BYTES", 10_000)
    chance, steps = Random(3), Tallies()

    def work(life: int) -> None:
        ingest, mine = Ingest(settings), Upkeep(settings)
        for step in itertools.count(1):
            ingest.step()
            with contextlib.suppress(DBAPIError):  # another process held the lock for too long
                mine.step(LATER)
            steps[life] = step

    lives = itertools.count()
    living: dict[int, Child] = {}
    left = [*visits]
    while left:
        while len(living) < 2:
            life = next(lives)
            living[life] = Child(partial(work, life))
        some, left = left[:60], left[60:]
        assert all(journal.append(encode(visit)) for visit in some)
        killed, least = chance.choice([*living]), chance.randint(1, 25)
        wait_until(partial(has_made, steps, killed, least))
        living.pop(killed).kill()
    for child in living.values():
        child.kill()
    ingest = Ingest(settings)
    take_in(ingest)
    ingest.close()
    until_done(upkeep, LATER)
    for each in asked_everywhere(("UTC",)):
        rows = plain(visits, each).rows(each.type, over_links=each.link_ids is not None)
        found = answers(session, [each])[0].rows
        # late visitors of a pruned day can't be matched with earlier ones, so only clicks are compared
        assert sorted(pageviews(found, each)) == sorted(pageviews(rows, each))
    assert len(tables.all(Click, "id")) == sum(day >= PRUNED for day in days_after_begin(visits))


def has_made(steps: Tallies, life: int, least: int) -> bool:
    return steps[life] >= least


def pageviews(rows: list[dict[str, Any]], asked: StatisticsQuery) -> list[tuple[str, int]]:
    name = "formatted_date" if asked.type == "overview" else asked.type
    return [(str(row[name]), row["pageviews"]) for row in rows]
