"""Reports equal a plain count of a known load, click by click."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.analytics.ingest import Ingest
from app.analytics.statistics import (
    TYPES,
    StatisticsQuery,
    StatisticsReport,
    hours_of_week,
    last_days,
    make_report,
    preceding_query,
    query_statistics,
)
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import take_in
from tests.analytics.load import Plain, load, value

pytestmark = pytest.mark.databases
# clocks are set back on 2026-10-25 in Berlin, and on 2026-11-01 in New York
BEGIN = dt.datetime(2026, 10, 23, tzinfo=dt.UTC)
DAYS = 12
LINKS = {1: (10, 11, 12), 2: (20,)}
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Pacific/Apia")
START, END = dt.date(2026, 10, 24), dt.date(2026, 11, 2)
Filters = dict[str, str | None]


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return load(1500, BEGIN, DAYS, LINKS, Random(4))


@pytest.fixture
def loaded(visits: list[Visit], ingest: Ingest, journal: Journal, session: scoped_session[Session]) -> Any:
    assert all(journal.append(encode(visit)) for visit in visits)
    take_in(ingest)
    return session


def plain(visits: list[Visit], asked: StatisticsQuery) -> Plain:
    wanted = [
        visit
        for visit in visits
        if visit.user_id == asked.workspace_id
        and (asked.link_ids is None or visit.link_id in asked.link_ids)
        and bool(visit.is_bot) == asked.bots
        and all(value(name, visit) == text for name, text in asked.filters.items())
    ]
    return Plain(wanted, asked.zone, asked.start, asked.end)


def questions(**fields: Any) -> list[StatisticsQuery]:
    common = {"workspace_id": 1, "start": START, "end": END, "zone": ZoneInfo("UTC"), "limit": 1000, **fields}
    return [StatisticsQuery(type=name, **common) for name in TYPES]


SCOPES: list[tuple[str, dict[str, Any]]] = [
    ("all links", {}),
    ("one link", {"link_ids": (11,)}),
    ("some links", {"link_ids": (10, 12)}),
    ("no links", {"link_ids": ()}),
    ("bots", {"bots": True}),
    ("one day", {"start": END, "end": END, "link_ids": (10,)}),
    *((zone, {"zone": ZoneInfo(zone), "link_ids": links}) for zone in ZONES for links in (None, (10,))),
    ("from a country", {"filters": {"country_code": "DE"}}),
    ("with two filters", {"filters": {"country_code": "DE", "device_type": "mobile"}, "link_ids": (10, 11)}),
    ("from nowhere", {"filters": {"referrer_host": None}, "zone": ZoneInfo("Asia/Kolkata")}),
    ("from a page", {"filters": {"referrer_path": "news.example/story"}}),
    ("without an agent", {"filters": {"os_name": None}}),
    ("with what nobody had", {"filters": {"utm_source": "nobody's"}}),
]


def test_reports_equal_a_plain_count(loaded: Any, visits: list[Visit]) -> None:
    differing = []
    for name, fields in SCOPES:
        for asked in questions(**fields):
            counted = plain(visits, asked)
            found, over_links = query_statistics(loaded, asked), asked.link_ids is not None
            total = counted.count(lambda _: "all", over_links=over_links).get("all", (0, 0))
            if found.rows != counted.rows(asked.type, over_links=over_links):
                differing.append((name, asked.type))
            if (found.pageviews, found.visitors) != total:
                differing.append((name, asked.type, "total"))
            if make_report(loaded, asked) != StatisticsReport(found.rows, found.pageviews, found.covers):
                differing.append((name, asked.type, "report"))
    assert not differing


# a day of 23 hours, one of 25, one of 24½, and one of 23½
CHANGES = {
    "Europe/Berlin": dt.date(2026, 3, 29),
    "America/New_York": dt.date(2026, 11, 1),
    "Australia/Lord_Howe": dt.date(2026, 4, 5),
    "Australia/Lord_Howe, forward": dt.date(2026, 10, 4),
}


def test_days_on_which_clocks_change(journal: Journal, ingest: Ingest, session: Any) -> None:
    visits = []
    for day in CHANGES.values():
        begin = dt.datetime.combine(day - dt.timedelta(2), dt.time(), dt.UTC)
        visits += load(300, begin, 4, LINKS, Random(day.toordinal()))
    assert all(journal.append(encode(visit)) for visit in visits)
    take_in(ingest)
    for zone, day in CHANGES.items():
        one = dt.timedelta(1)
        spans = [(day, day), (day - one, day + one)]
        for start, end in spans:
            for asked in questions(start=start, end=end, zone=ZoneInfo(zone.partition(",")[0])):
                counted, found = plain(visits, asked), query_statistics(session, asked)
                assert found.rows == counted.rows(asked.type), (zone, asked.type)
                assert found.pageviews > 10
            week = hours_of_week(session, asked)
            assert sum(cell.pageviews for hours in week for cell in hours) == found.pageviews


def test_the_limit_keeps_the_most_and_the_totals(loaded: Any) -> None:
    [every] = [asked for asked in questions() if asked.type == "city_name"]
    found = query_statistics(loaded, StatisticsQuery(**{**every.__dict__, "limit": 1}))
    whole = query_statistics(loaded, every)
    assert found.rows == whole.rows[:1]
    assert (found.pageviews, found.visitors) == (whole.pageviews, whole.visitors)


def test_the_period_before_is_as_long_and_ends_right_before() -> None:
    asked = StatisticsQuery(
        workspace_id=1, start=START, end=START + dt.timedelta(6), zone=ZoneInfo("UTC"), bots=True
    )
    earlier = preceding_query(asked)
    assert (earlier.start, earlier.end) == (START - dt.timedelta(7), START - dt.timedelta(1))
    assert earlier.bots


def test_hours_of_the_week(loaded: Any, visits: list[Visit]) -> None:
    asked = questions(zone=ZoneInfo("Asia/Kathmandu"))[0]
    counted = plain(visits, asked)
    expected = counted.count(lambda visit: (counted.local(visit).weekday(), counted.local(visit).hour))
    found = hours_of_week(loaded, asked)
    assert {(day, hour): tuple(found[day][hour]) for day in range(7) for hour in range(24) if any(found[day][hour])} == expected  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_last_days(loaded: Any, visits: list[Visit], zone: str) -> None:
    found = last_days(loaded, [10, 11, 99], 7, ZoneInfo(zone), END)
    first = END - dt.timedelta(6)
    for link_id in (10, 11, 99):
        asked = StatisticsQuery(
            workspace_id=1, start=first, end=END, zone=ZoneInfo(zone), link_ids=(link_id,)
        )
        assert found[link_id] == [row["pageviews"] for row in plain(visits, asked).rows("overview")]


def test_nothing_at_all(session: Any, make_ingest: Callable[[], Ingest]) -> None:
    for asked in questions():
        found = query_statistics(session, asked)
        assert (found.pageviews, found.visitors, found.covers) == (0, 0, None)
        assert len(found.rows) == {"overview": 10, "hour": 24}.get(asked.type, 0)
