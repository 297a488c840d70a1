"""Day lists: the top links found with them equal those of a full count."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.accounts.workspaces import access_of
from app.analytics import day_lists, rollup_models, upkeep
from app.analytics import top_links as ranking
from app.analytics.statistics import StatisticsQuery
from app.analytics.top_links import by_link
from app.analytics.upkeep import Upkeep
from app.core.config import Settings
from app.journal.codec import Visit
from tests.analytics.load import load

pytestmark = pytest.mark.databases
BEGIN = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)
DAYS = 6
SOON = BEGIN + dt.timedelta(days=DAYS, hours=2)
LATER = BEGIN + dt.timedelta(days=93, hours=2)  # by then three of the days are older than 90 days
Write = Callable[[list[Visit]], None]


@pytest.fixture
def visits(make_link: Any, alice: Any) -> list[Visit]:
    """Clicks on thirty links, most of them on a few."""
    ids = [make_link(alice, f"link-{n}").id for n in range(30)]
    chance = Random(3)
    some = load(1500, BEGIN, DAYS, {alice.id: ids}, chance)
    return [visit._replace(link_id=ids[int(30 * chance.random() ** 3)]) for visit in some]


@pytest.fixture
def work(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dt.datetime], None]]:
    """Runs the upkeep that is due at a given time, with short lists."""
    monkeypatch.setattr(rollup_models, "MANY", 5)
    monkeypatch.setattr(upkeep, "REST_SECONDS", 0.0)
    monkeypatch.setattr(day_lists, "LISTED", 8)
    monkeypatch.setattr(ranking, "MIN_BATCH_SIZE", 3)
    worker = Upkeep(settings)

    def work(now: dt.datetime) -> None:
        while worker.step(now):
            pass

    yield work
    worker.close()


def questions(alice: Any) -> list[StatisticsQuery]:
    first = BEGIN.date()
    spans = [(first, first + dt.timedelta(DAYS)), (first + dt.timedelta(1), first + dt.timedelta(3))]
    return [
        StatisticsQuery(
            workspace_id=access_of(alice).workspace_id,
            start=start,
            end=end,
            zone=ZoneInfo(zone),
            bots=bots,
            limit=limit,
        )
        for start, end in [*spans, (first, first)]
        for zone in ("UTC", "Asia/Kathmandu", "America/New_York")
        for bots in (False, True)
        for limit in (1, 4, 100)
    ]


def plainly(session: Any, asked: StatisticsQuery, visits: list[Visit]) -> list[tuple[int, int]]:
    """Ids and clicks of the links, counted one by one; the order of ties is undefined."""
    counts: dict[int, int] = {}
    for visit in visits:
        day = dt.datetime.fromtimestamp(visit.time_ms / 1000, asked.zone).date()
        if asked.start <= day <= asked.end and bool(visit.is_bot) is asked.bots:
            counts[visit.link_id] = counts.get(visit.link_id, 0) + 1
    return sorted(counts.items(), key=lambda one: -one[1])


def differing(session: Any, alice: Any, visits: list[Visit]) -> list[StatisticsQuery]:
    session.rollback()
    wrong = []
    for asked in questions(alice):
        plain = plainly(session, asked, visits)
        found = [(id_, count.pageviews) for id_, count in by_link(session, asked)]
        counts = dict(plain)
        is_same = all(counts[id_] == count for id_, count in found)
        if not is_same or [n for _, n in found] != [n for _, n in plain[: asked.limit]]:
            wrong.append(asked)
    return wrong


def test_the_most_visited_are_the_same_from_lists(
    visits: list[Visit], write: Write, work: Callable[[dt.datetime], None], session: Any, alice: Any
) -> None:
    early, late = visits[:-60], visits[-60:]
    write(early)
    assert differing(session, alice, early) == []
    work(SOON)
    assert differing(session, alice, early) == []
    whole = replace(questions(alice)[1], limit=2)
    bounds = day_lists.find_bounds(session, whole.scope, whole.period.first, whole.period.last)
    assert bounds
    assert bounds.others > 0
    assert ranking.by_bounds(session, whole) == by_link(session, whole) != []
    write(late)
    assert differing(session, alice, visits) == []
    work(SOON)
    assert differing(session, alice, visits) == []


def test_late_visits_to_days_whose_rows_are_gone(
    visits: list[Visit], write: Write, work: Callable[[dt.datetime], None], session: Any, alice: Any
) -> None:
    write(visits)
    work(LATER)
    # a link that was in no list becomes the first of its day
    [least] = [id_ for id_, _ in plainly(session, questions(alice)[2], visits)][-1:]
    mine = next(visit for visit in visits if visit.link_id == least)
    moment = int(BEGIN.timestamp()) * 1000 + 3_600_000
    late = [mine._replace(time_ms=moment + n, visitor=f"late {n}") for n in range(200)]
    for _ in range(2):
        write(late)
        visits = [*visits, *late]
        assert differing(session, alice, visits) == []
        work(LATER)
        assert differing(session, alice, visits) == []


def test_where_lists_are_missing_all_are_added_up(
    visits: list[Visit],
    write: Write,
    work: Callable[[dt.datetime], None],
    session: Any,
    alice: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(visits)
    asked = questions(alice)[1]
    with monkeypatch.context() as patch:  # too many rows to count
        patch.setattr(day_lists, "MAX_ROWS", 100)
        assert ranking.by_bounds(session, asked) is None
        assert differing(session, alice, visits) == []
    work(SOON)
    session.rollback()
    with monkeypatch.context() as patch:  # ties in each list: no link is ahead of the others
        patch.setattr(day_lists, "LOOKED_AT", 3)
        assert ranking.by_bounds(session, asked) is None
        assert differing(session, alice, visits) == []
