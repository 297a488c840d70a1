"""What every store says of the same clicks equals a plain count of them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine

from app.analytics.erasure import erase_clicks
from app.analytics.export import visit_rows
from app.analytics.ingest import Ingest
from app.analytics.periods import QUARTER_MS
from app.analytics.readers import first_moment, reader_of
from app.analytics.scope import Scope
from app.analytics.statistics import (
    StatisticsQuery,
    hours_of_week,
    last_days,
    make_report,
    preceding_query,
    query_statistics,
)
from app.analytics.upkeep import open_upkeep
from app.core.clock import written_ms
from app.core.config import Settings
from app.core.extensions import db
from app.events.push.links import count_matches
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from app.notifications.click_filter import ClickFilter
from app.redirects.user_agent import parse_device
from tests.analytics.conftest import take_in
from tests.analytics.load import BEGIN, END, LINKS, START, load, plain, questions, value

BERLIN, NEW_YORK, KOLKATA = map(ZoneInfo, ("Europe/Berlin", "America/New_York", "Asia/Kolkata"))
SCOPES: dict[str, dict[str, Any]] = {
    "all links": {},
    "all links, Berlin": {"zone": BERLIN},
    "some links, New York": {"link_ids": (10, 12), "zone": NEW_YORK},
    "one link, Kolkata": {"link_ids": (11,), "zone": KOLKATA},
    "no links": {"link_ids": ()},
    "bots": {"bots": True},
    "all links, Kathmandu": {"zone": ZoneInfo("Asia/Kathmandu")},
    "one link, Apia": {"link_ids": (10,), "zone": ZoneInfo("Pacific/Apia")},
    "one day": {"start": END, "end": END, "link_ids": (10,)},
    "from a country": {"filters": {"country_code": "DE"}, "zone": BERLIN},
    "with two filters": {"filters": {"country_code": "DE", "device_type": "mobile"}, "link_ids": (10, 11)},
    "from nowhere": {"filters": {"referrer_host": None}},
    "from a page": {"filters": {"referrer_path": "news.example/story"}},
    "without an agent": {"filters": {"os_name": None}},
    "with what nobody had": {"filters": {"utm_source": "it's \\ nobody's"}},
}


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return load(900, BEGIN, 12, LINKS, Random(4))


def differing(session: Any, visits: list[Visit], **more: Any) -> list[tuple[str, str]]:
    """Reports that do not equal the plain count."""
    found = []
    for name, fields in SCOPES.items():
        for asked in questions(**{**fields, **more}):
            counted, answer = plain(visits, asked), query_statistics(session, asked)
            over_links = asked.link_ids is not None
            total = counted.count(lambda _: "all", over_links=over_links).get("all", (0, 0))
            if answer.rows != counted.rows(asked.type, over_links=over_links):
                found.append((name, asked.type))
            if (answer.pageviews, answer.visitors) != total:
                found.append((name, f"{asked.type}, total"))
    return found


@pytest.mark.parametrize(
    "store", ["sqlite", "postgresql", pytest.param("clickhouse", marks=pytest.mark.full)], indirect=True
)
def test_reports(loaded: Any, visits: list[Visit]) -> None:
    assert not differing(loaded, visits)
    asked = next(each for each in questions(filters={"country_code": "DE"}) if each.type == "city_name")
    whole = query_statistics(loaded, asked)
    assert make_report(loaded, asked).rows == whole.rows
    assert query_statistics(loaded, replace(asked, limit=1)) == replace(whole, rows=whole.rows[:1])


# a day of 23 hours, one of 25, one of 24½, and one of 23½
CHANGES = {
    "Europe/Berlin": dt.date(2026, 3, 29),
    "America/New_York": dt.date(2026, 11, 1),
    "Australia/Lord_Howe": dt.date(2026, 4, 5),
    "Australia/Lord_Howe, forward": dt.date(2026, 10, 4),
}


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_days_on_which_clocks_change(journal: Journal, ingest: Ingest, session: Any) -> None:
    visits = []
    for day in CHANGES.values():
        begin = dt.datetime.combine(day - dt.timedelta(2), dt.time(), dt.UTC)
        visits += load(300, begin, 4, LINKS, Random(day.toordinal()))
    assert all(journal.append(encode(visit)) for visit in visits)
    take_in(ingest)
    for zone, day in CHANGES.items():
        one = dt.timedelta(1)
        for start, end in ((day, day), (day - one, day + one)):
            for asked in questions(start=start, end=end, zone=ZoneInfo(zone.partition(",")[0])):
                counted, found = plain(visits, asked), query_statistics(session, asked)
                assert found.rows == counted.rows(asked.type), (zone, asked.type)
                assert found.pageviews > 10
            week = hours_of_week(session, asked)
            assert sum(cell.pageviews for hours in week for cell in hours) == found.pageviews


def test_the_period_before_is_as_long_and_ends_right_before() -> None:
    asked = StatisticsQuery(
        workspace_id=1, start=START, end=START + dt.timedelta(6), zone=ZoneInfo("UTC"), bots=True
    )
    earlier = preceding_query(asked)
    assert (earlier.start, earlier.end) == (START - dt.timedelta(7), START - dt.timedelta(1))
    assert earlier.bots


def check_hours_of_the_week_and_last_days(loaded: Any, visits: list[Visit]) -> None:
    asked = questions(zone=KOLKATA)[0]
    counted = plain(visits, asked)
    expected = counted.count(lambda visit: (counted.local(visit).weekday(), counted.local(visit).hour))
    found = hours_of_week(loaded, asked)
    there = {(day, hour): tuple(found[day][hour]) for day in range(7) for hour in range(24)}
    assert {place: counts for place, counts in there.items() if any(counts)} == expected
    days = last_days(loaded, [10, 99], 7, NEW_YORK, END)
    asked = replace(asked, start=END - dt.timedelta(6), zone=NEW_YORK, link_ids=(10,))
    assert days == {10: [row["pageviews"] for row in plain(visits, asked).rows("overview")], 99: [0] * 7}


def check_single_clicks(loaded: Any, visits: list[Visit]) -> None:
    asked = questions(zone=BERLIN, filters={"country_code": "DE"})[0]
    counted = plain(visits, asked)
    inside = [visit for visit in counted.visits if counted.is_inside(visit)]
    rows = [*visit_rows(db.engine, asked)]
    assert Counter((row[0], row[1]) for row in rows) == Counter(
        (written_ms(visit.time_ms), visit.link_id) for visit in inside
    )
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    columns = {7: "country_code", 8: "city_name", 10: "os_name", 12: "browser_language", 16: "destination"}
    for column, name in columns.items():
        said = Counter(row[column] for row in rows)
        assert said == Counter(value(name, visit) or "" for visit in inside), name


LATEST: dict[str, dict[str, Any]] = {
    "all": {},
    "of one country, on the days of another zone": {"zone": BERLIN, "filters": {"country_code": "DE"}},
    "of two values": {"filters": {"country_code": "US", "browser_name": "Chrome"}},
    "bots on a link": {"link_ids": (11,), "bots": True},
    "one day elsewhere": {"start": START, "end": START, "zone": BERLIN},
    "no links": {"link_ids": ()},
}
SHOWN = (
    "link_id",
    "country_code",
    "city_name",
    "referrer_host",
    "referrer_path",
    "utm_source",
    "destination",
)


def check_latest_clicks(loaded: Any, visits: list[Visit]) -> None:
    for name, fields in LATEST.items():
        asked = questions(**fields)[0]
        counted = plain(visits, asked)
        expected = [
            (visit.time_ms // 1000, parse_device(visit.agent), *(getattr(visit, each) for each in SHOWN))
            for visit in counted.visits[::-1]
            if counted.is_inside(visit)
        ]
        found = reader_of(loaded).latest_visits(asked)
        assert [
            (one.datetime.timestamp(), one.device, *(getattr(one, each) for each in SHOWN)) for one in found
        ] == expected[:20], name
        assert {one.bot_name for one in found} <= {"curl" if asked.bots else ""}
        assert bool(found) == (name != "no links")


def check_last_minutes(loaded: Any, visits: list[Visit]) -> None:
    for links in (None, (10,), (10, 11)):
        asked = questions(link_ids=links)[0]
        people = plain(visits, asked).visits
        now = dt.datetime.fromtimestamp(people[len(people) // 2].time_ms / 1000, dt.UTC)
        first = int(now.timestamp()) // 60 - 599
        clicks, visitors, seen = Counter[int](), Counter[int](), set[str]()
        for visit in people:
            minute = visit.time_ms // 60_000 - first
            if 0 <= minute < 600:
                clicks[minute] += 1
                visitors[minute] += visit.visitor not in seen
                seen.add(visit.visitor)
        assert clicks.total() > visitors.total() > 0
        found = reader_of(loaded).by_minute(asked, now, 600)
        assert [tuple(count) for count in found] == [(clicks[each], visitors[each]) for each in range(600)]


def check_links_and_beginnings(loaded: Any, visits: list[Visit]) -> None:
    reader = reader_of(loaded)
    for links in (LINKS[1], (10, 12)):
        for filters in ({}, {"os_name": "iOS"}, {"os_name": "iOS", "country_code": "DE"}):
            asked = questions(link_ids=links, filters=filters)[0]
            expected = plain(visits, asked).count(lambda visit: visit.link_id, over_links=True)
            found = [(id_, tuple(counts)) for id_, counts in reader.top_links(asked)]
            assert dict(found) == expected
            assert [clicks for _, (clicks, _) in found] == sorted(
                (n for n, _ in expected.values()), reverse=True
            )
            assert len(reader.top_links(replace(asked, limit=1))) == 1
    assert first_moment(loaded, 1) == BEGIN
    assert first_moment(loaded, 9) is None
    assert reader.has_visits([9, 10])
    assert not reader.has_visits([9])
    for link in LINKS[1]:
        newest = max(visit.time_ms for visit in visits if visit.link_id == link and not visit.is_bot)
        assert reader.latest_click(link) == dt.datetime.fromtimestamp(newest // 1000, dt.UTC)
    assert reader.latest_click(999) is None
    assert reader.count_rows(1) == sum(visit.workspace_id == 1 for visit in visits)


def matching(visits: list[Visit], scope: Scope, first: int, last: int) -> Counter[int]:
    """The plain count of clicks by link, between two quarters of an hour."""
    return Counter(
        visit.link_id
        for visit in visits
        if visit.workspace_id == scope.workspace_id
        and first <= visit.time_ms // QUARTER_MS < last
        and (scope.link_ids is None or visit.link_id in scope.link_ids)
        and (scope.is_bot is None or bool(visit.is_bot) == scope.is_bot)
        and all(value(name, visit) == text for name, text in scope.filters.items())
    )


LINK_SCOPES: dict[str, Scope] = {
    "people": Scope(1),
    "bots": Scope(1, is_bot=True),
    "people and bots": Scope(1, is_bot=None),
    "some links, one of them without clicks": Scope(1, (10, 12, 99)),
    "no links": Scope(1, ()),
    "from a country": Scope(1, filters={"country_code": "DE"}),
    "bots from a country on a link": Scope(1, (11,), True, {"country_code": "DE"}),
    "from nowhere": Scope(1, filters={"country_code": None}),
    "from where nobody came from": Scope(1, filters={"country_code": "JP"}),
    "nobody's": Scope(9),
}


def check_clicks_by_link(loaded: Any, visits: list[Visit]) -> None:
    """Also where a day is cut, before which visitors came that come again."""
    reader, day = reader_of(loaded), int(BEGIN.timestamp() * 1000) // QUARTER_MS
    for name, scope in LINK_SCOPES.items():
        for first, last in ((day, day + 12 * 96), (day + 250, day + 346), (day + 300, day + 301), (0, day)):
            found = reader.by_link(scope, first, last)
            assert found == matching(visits, scope, first, last), (name, first - day, last - day)
    assert sum(reader.by_link(Scope(1), day, day + 12 * 96).values()) > 200


CLICK_FILTERS: dict[str, tuple[dict[str, Any], tuple[int, ...] | None]] = {
    "all": ({}, None),
    "of some links": ({}, (10, 11)),
    "of no links": ({}, ()),
    "bots": ({"is_bot": True}, None),
    "from two countries": ({"countries": ["DE", "US"]}, None),
    "from where nobody came from": ({"countries": ["JP"]}, None),
    "each third": ({"every": 3}, None),
    "each third from two countries": ({"every": 3, "countries": ["DE", "US"]}, (10, 12)),
    "the first": ({"first": True}, None),
    "the first bot from a country": ({"first": True, "is_bot": True, "countries": ["US"]}, None),
}


def check_clicks_of_the_last_day(loaded: Any, visits: list[Visit]) -> None:
    """The counter beside a handler's form; the last day is the last 96 quarters of an hour, begun ones too."""
    moment = BEGIN + dt.timedelta(days=5, hours=17, minutes=38)
    last = int(moment.timestamp() * 1000) // QUARTER_MS + 1
    with time_machine.travel(moment, tick=False):
        for name, (fields, links) in CLICK_FILTERS.items():
            asked = ClickFilter.of(fields)
            countries = [{"country_code": code} for code in asked.countries] or [{}]
            scopes = [Scope(1, links, asked.is_bot, filters) for filters in countries]
            counts = sum((matching(visits, scope, last - 96, last) for scope in scopes), Counter())
            parts = [1 if asked.first else count // asked.every for count in counts.values()]
            assert count_matches(loaded, 1, links, asked) == sum(parts), name
        assert count_matches(loaded, 1, None, ClickFilter.of({})) > 10
        many = ClickFilter.of({"countries": ["DE"] * 11})
        assert count_matches(loaded, 1, None, many) is None


CHECKS = (
    check_hours_of_the_week_and_last_days,
    check_single_clicks,
    check_latest_clicks,
    check_last_minutes,
    check_links_and_beginnings,
    check_clicks_by_link,
    check_clicks_of_the_last_day,
)


def test_other_readings(loaded: Any, visits: list[Visit]) -> None:
    """One after the other on the same clicks, whose loading takes most of the time."""
    for check in CHECKS:
        check(loaded, visits)


@pytest.mark.full
def test_what_is_rolled_up_and_removed(
    settings: Settings, loaded: Any, visits: list[Visit], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Days of more than 200 clicks are rolled up in SQL; here all are."""
    monkeypatch.setattr("app.analytics.rollup_models.MANY", 0)
    maintain(settings, 400, dt.datetime(2026, 11, 10, tzinfo=dt.UTC))
    for fields in ({}, {"zone": BERLIN}, {"bots": True}):
        for asked in questions(**fields):
            assert query_statistics(loaded, asked).rows == plain(visits, asked).rows(asked.type), asked.type
    removed = dt.date(2026, 10, 28)  # the first day that is kept
    maintain(settings, 10, dt.datetime(2026, 11, 7, tzinfo=dt.UTC))
    for asked in questions(start=START, end=END):
        counted, found = plain(visits, asked), query_statistics(loaded, asked)
        assert found.rows == counted.rows(asked.type), asked.type
    zoned = query_statistics(loaded, questions(zone=NEW_YORK)[1])
    assert zoned.rows == plain(visits, questions(zone=NEW_YORK)[1]).rows("hour")
    asked = questions(filters={"country_code": "DE"})[0]
    assert query_statistics(loaded, asked).rows == plain(visits, asked).rows("overview")
    several = replace(asked, filters={"country_code": "DE", "os_name": "iOS"})
    answer = query_statistics(loaded, several)
    assert answer.covers == (removed, END)
    assert answer.rows[4:] == plain(visits, replace(several, start=removed)).rows("overview")
    links = replace(asked, filters={}, link_ids=(10, 11), type="city_name")
    assert query_statistics(loaded, links).rows == plain(visits, links).rows("city_name", over_links=True)
    kept = [visit for visit in visits if visit.workspace_id == 1 and visit.time_ms >= day_ms(removed)]
    assert reader_of(loaded).count_rows(1) == len(kept)


@pytest.mark.full
def test_a_filter_over_very_many_clicks_reads_roll_ups(
    settings: Settings, loaded: Any, visits: list[Visit], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums stay exact; whole days are those of UTC. All of these clicks are still there one by one."""
    monkeypatch.setattr("app.analytics.rollup_models.MANY", 0)
    maintain(settings, 400, dt.datetime(2026, 11, 10, tzinfo=dt.UTC))
    exact = questions(filters={"country_code": "DE"}, zone=BERLIN)[0]
    assert query_statistics(loaded, exact).rows == plain(visits, exact).rows("overview")
    monkeypatch.setattr("app.analytics.day_state.MOST_FILTERED", 0)
    for asked in (exact, replace(exact, filters={"os_name": None})):
        found, counted = query_statistics(loaded, asked), plain(visits, asked)
        assert (found.pageviews, found.visitors) == counted.count(lambda _: "all")["all"]
        of_utc = plain(visits, replace(asked, zone=dt.UTC)).rows("overview")  # type: ignore[arg-type]
        assert found.rows[1:-1] == of_utc[1:-1]
        assert found.rows != counted.rows("overview")


def day_ms(day: dt.date) -> int:
    return int(dt.datetime.combine(day, dt.time(), dt.UTC).timestamp() * 1000)


def maintain(settings: Settings, retention: int, now: dt.datetime) -> None:
    upkeep = open_upkeep(replace(settings, click_retention_days=retention))
    while upkeep.step(now):
        pass
    upkeep.close()
    db.session.rollback()  # what is read next is read anew


def test_erasure(settings: Settings, loaded: Any, visits: list[Visit]) -> None:
    maintain(settings, 20, dt.datetime(2026, 11, 17, tzinfo=dt.UTC))
    loaded.rollback()
    erase_clicks(settings, 1, [list(LINKS[1])])
    for asked in questions():
        found = query_statistics(loaded, asked)
        assert (found.pageviews, found.visitors) == (0, 0)
        other = replace(asked, workspace_id=2)
        assert query_statistics(loaded, other).rows == plain(visits, other).rows(other.type)
    assert first_moment(loaded, 1) is None
    assert not reader_of(loaded).has_visits(LINKS[1])


def test_nothing_at_all(session: Any, make_ingest: Callable[[], Ingest]) -> None:
    for asked in questions():
        found = query_statistics(session, asked)
        assert (found.pageviews, found.visitors, found.covers) == (0, 0, None)
        assert len(found.rows) == {"overview": 10, "hour": 24}.get(asked.type, 0)
