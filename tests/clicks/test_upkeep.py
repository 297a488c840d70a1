"""Do reports stay what they were when visits are rolled up, and when their rows go?"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, scoped_session

from app.clicks import ageing, in_order
from app.clicks import ingest as ingest_module
from app.clicks import upkeep as module
from app.clicks.ingest import Ingest
from app.clicks.models import Click
from app.clicks.periods import DAY_MS
from app.clicks.rollup_models import LinkValue, OwnerDay, OwnerValue, Seen
from app.clicks.statistics import DIMENSIONS, Answer, Asked, answer
from app.clicks.upkeep import Upkeep
from app.config import Settings
from app.journal.record import Visit, encode
from app.journal.writer import Journal
from tests.clicks.conftest import Tables, take_in
from tests.clicks.load import load
from tests.clicks.test_kills import Tallies, wait_until
from tests.clicks.test_statistics import BEGIN, DAYS, LINKS, plain, questions
from tests.journal.children import Child, forks

pytestmark = pytest.mark.databases
SOON = BEGIN + dt.timedelta(days=DAYS, hours=2)
# the first four days are older than 90 days then
LATER = BEGIN + dt.timedelta(days=94, hours=2)
PRUNED = 4
PRUNED_AT_ONCE = 15
SCOPES: list[dict[str, Any]] = [{}, {"link_ids": (10,)}, {"link_ids": (10, 11, 12)}, {"bots": True}]
ZONES = ("UTC", "Asia/Kathmandu")


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return load(1200, BEGIN, DAYS, LINKS, Random(5))


@pytest.fixture
def upkeep(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upkeep]:
    monkeypatch.setattr(ageing, "MANY", 25)  # some of the links' days have as many, some have not
    monkeypatch.setattr(module, "REST_SECONDS", 0.0)
    # so that a day takes many of each kind of step
    monkeypatch.setattr(in_order, "READ", 25)
    monkeypatch.setattr(ageing, "TALLIED", 20)
    monkeypatch.setattr(ageing, "WRITTEN", 30)
    monkeypatch.setattr(ageing, "PRUNED", PRUNED_AT_ONCE)
    monkeypatch.setattr(ageing, "LINKS", 2)
    upkeep = Upkeep(settings)
    yield upkeep
    upkeep.close()


@pytest.fixture
def write(journal: Journal, ingest: Ingest) -> Callable[[list[Visit]], None]:
    def write(visits: list[Visit]) -> None:
        assert all(journal.append(encode(visit)) for visit in visits)
        take_in(ingest)

    return write


def until_done(upkeep: Upkeep, now: dt.datetime) -> None:
    while upkeep.step(now):
        pass


def asked_everywhere(zones: tuple[str, ...] = ZONES) -> list[Asked]:
    return [
        asked
        for zone in zones
        for scope in SCOPES
        for asked in questions(
            zone=ZoneInfo(zone), start=BEGIN.date(), end=BEGIN.date() + dt.timedelta(9), **scope
        )
    ]


def answers(session: scoped_session[Session], asked: list[Asked]) -> list[Answer]:
    session.rollback()
    return [answer(session, each) for each in asked]


def test_reports_stay_the_same_when_days_are_rolled_up(
    write: Callable[[list[Visit]], None],
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
    per_link = {link_id for (link_id,) in tables.all(LinkValue, "link_id")}
    assert per_link < {10, 11, 12, 20} or len(tables.all(LinkValue, "day")) < len(visits)
    assert answers(session, asked) == before
    # the roll-ups are what is read, not the rows
    with tables.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {prefix(tables)}owner_value SET pageviews = pageviews + 1000")
    [hosts] = [each for each in questions() if each.type == "referrer_host"]
    assert answers(session, [hosts])[0].rows[0]["pageviews"] > 1000


def prefix(tables: Tables) -> str:
    return "clicks." if tables.engine.dialect.name == "postgresql" else ""


def test_a_late_visit_is_in_the_reports_at_once_and_in_the_roll_ups_again(
    write: Callable[[list[Visit]], None], upkeep: Upkeep, visits: list[Visit], session: Any, tables: Tables
) -> None:
    write(visits[:-40])
    until_done(upkeep, SOON)
    write(visits[-40:])
    for _ in range(2):
        for each in asked_everywhere(("Asia/Kathmandu",)):
            rows = plain(visits, each).rows(each.type, over_links=each.link_ids is not None)
            assert answers(session, [each])[0].rows == rows
        until_done(upkeep, SOON)
    assert {rolled == count for count, rolled in tables.all(OwnerDay, "visits", "rolled")} == {True}


def test_a_visit_that_comes_while_its_day_is_rolled_up_is_not_missed(
    write: Callable[[list[Visit]], None], upkeep: Upkeep, visits: list[Visit], session: Any
) -> None:
    write(visits[:-40])
    for _ in range(6):
        assert upkeep.step(SOON)
    write(visits[-40:])
    until_done(upkeep, SOON)
    for each in asked_everywhere(("UTC",)):
        rows = plain(visits, each).rows(each.type, over_links=each.link_ids is not None)
        assert answers(session, [each])[0].rows == rows


def test_rows_go_after_their_time_and_reports_stay(
    write: Callable[[list[Visit]], None],
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


def test_at_every_step_each_visit_is_in_the_reports_once(
    write: Callable[[list[Visit]], None], upkeep: Upkeep, tables: Tables, visits: list[Visit], session: Any
) -> None:
    """And no step removes more than a few rows, however many a day has."""
    write(visits)
    until_done(upkeep, SOON)
    asked = [each for each in asked_everywhere(("UTC",)) if each.type in {"overview", "referrer_path"}]
    before = [
        pageviews(each.rows, wanted) for each, wanted in zip(answers(session, asked), asked, strict=True)
    ]
    left, steps = len(visits), 0
    while upkeep.step(LATER):
        gone, left = left - len(tables.all(Click, "id")), len(tables.all(Click, "id"))
        assert gone <= PRUNED_AT_ONCE
        steps += 1
        if gone or steps % 5 == 0:
            now = [
                pageviews(each.rows, wanted)
                for each, wanted in zip(answers(session, asked), asked, strict=True)
            ]
            assert now == before
    assert left < len(visits)
    assert steps > 2 * (len(visits) - left) / PRUNED_AT_ONCE


def test_a_day_that_has_fewer_rows_than_it_says_is_not_waited_for(
    write: Callable[[list[Visit]], None], upkeep: Upkeep, tables: Tables, visits: list[Visit]
) -> None:
    write(visits)
    with tables.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {prefix(tables)}owner_day SET visits = visits + 3")
        connection.exec_driver_sql(f"DELETE FROM {prefix(tables)}click WHERE user_id = 2")
    until_done(upkeep, LATER)
    old = BEGIN.date() + dt.timedelta(PRUNED)
    days = tables.all(OwnerDay, "day", "visits")
    assert {visits for day, visits in days if day * DAY_MS < to_ms(old)} == {0}


def to_ms(day: dt.date) -> int:
    return int(dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()) * 1000


def test_late_visits_of_a_day_whose_rows_are_gone_are_added(
    write: Callable[[list[Visit]], None], upkeep: Upkeep, tables: Tables, visits: list[Visit], session: Any
) -> None:
    write(visits)
    until_done(upkeep, LATER)
    late = [visits[0]._replace(time_ms=int(BEGIN.timestamp()) * 1000 + n, user_id=1, link_id=10, is_bot=0, visitor=f"late {n}") for n in range(7)]  # fmt: skip
    write(late)
    for _ in range(2):
        for each in asked_everywhere(("UTC",)):
            rows = plain([*visits, *late], each).rows(each.type, over_links=each.link_ids is not None)
            assert answers(session, [each])[0].rows == rows
        until_done(upkeep, LATER)
    assert len(tables.all(Click, "id")) == sum(day >= PRUNED for day in days_after_begin(visits))


def days_after_begin(visits: list[Visit]) -> list[int]:
    return [(visit.time_ms - int(BEGIN.timestamp()) * 1000) // DAY_MS for visit in visits]


def test_filters_say_which_days_are_still_known(
    write: Callable[[list[Visit]], None], upkeep: Upkeep, visits: list[Visit], session: Any
) -> None:
    write(visits)
    until_done(upkeep, LATER)
    begin = BEGIN.date()
    first, last = begin + dt.timedelta(PRUNED), begin + dt.timedelta(9)
    filters: Any = {"country_code": "DE"}
    for each in questions(start=begin, end=last, filters=filters):
        found = answers(session, [each])[0]
        known = plain(visits, Asked(**{**each.__dict__, "start": first}))
        assert found.covers == (first, last)
        assert found.pageviews == sum(row["pageviews"] for row in known.rows("overview"))
        if each.type in {"hour", *DIMENSIONS}:
            assert found.rows == known.rows(each.type)
        else:
            assert found.rows[PRUNED:] == known.rows("overview")
            assert {row["pageviews"] for row in found.rows[:PRUNED]} == {0}
    [none] = answers(
        session, [Asked(user_id=1, start=begin, end=begin, zone=ZoneInfo("UTC"), filters=filters)]
    )
    assert (none.pageviews, none.covers) == (0, (begin + dt.timedelta(1), begin))
    # yet east of Greenwich the first of these days begins before
    [east] = answers(
        session, [Asked(user_id=1, start=begin, end=last, zone=ZoneInfo("Asia/Kolkata"), filters=filters)]
    )
    assert east.covers == (first + dt.timedelta(1), last)


def test_nothing_is_done_before_old_rows_are_in_the_sums(
    write: Callable[[list[Visit]], None], upkeep: Upkeep, tables: Tables, visits: list[Visit]
) -> None:
    write(visits)
    with tables.engine.begin() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO {prefix(tables)}position (name, counters_offset, rows_offset) VALUES ('roll-ups', 0, 9)"
        )
    assert not upkeep.step(LATER)
    assert tables.all(OwnerValue) == []


@forks
def test_kills(
    settings: Settings,
    journal: Journal,
    visits: list[Visit],
    session: Any,
    upkeep: Upkeep,
    tables: Tables,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those who take visits in, and those who roll them up and remove them, are killed at any moment."""
    monkeypatch.setattr(ingest_module, "ROW_BYTES", 10_000)
    chance, steps = Random(3), Tallies()

    def work(life: int) -> None:
        ingest, mine = Ingest(settings), Upkeep(settings)
        for step in itertools.count(1):
            ingest.step()
            with contextlib.suppress(DBAPIError):  # the lock was another's for too long
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
        # who comes so late is not told any more from who came then
        assert sorted(pageviews(found, each)) == sorted(pageviews(rows, each))
    assert len(tables.all(Click, "id")) == sum(day >= PRUNED for day in days_after_begin(visits))


def has_made(steps: Tallies, life: int, least: int) -> bool:
    return steps[life] >= least


def pageviews(rows: list[dict[str, Any]], asked: Asked) -> list[tuple[str, int]]:
    name = "formatted_date" if asked.type == "overview" else asked.type
    return [(str(row[name]), row["pageviews"]) for row in rows]
