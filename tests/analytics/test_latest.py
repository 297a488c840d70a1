"""Latest clicks, last minutes and top links equal a plain count of the load."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.analytics.single_clicks import by_minute, latest_click, latest_visits
from app.analytics.statistics import StatisticsQuery
from app.analytics.top_links import by_link
from app.journal.codec import Visit
from app.redirects.user_agent import parse_device
from tests.analytics.load import Plain, load

pytestmark = pytest.mark.databases
BEGIN = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
NOW = dt.datetime(2026, 11, 21, 0, 12, 30, tzinfo=dt.UTC)
LINKS = {1: (10, 11, 12), 2: (20,)}
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    """Clicks of all users on two days, with more in the half hour around midnight; none after NOW."""
    around = load(300, NOW - dt.timedelta(minutes=35), 1, LINKS, Random(1))
    end = int(NOW.timestamp() * 1000)
    begin = end - 35 * 60_000
    late = [visit._replace(time_ms=begin + (visit.time_ms - begin) % (35 * 60_000)) for visit in around]
    return [*load(400, BEGIN, 1, LINKS, Random(2)), *late]


def asked(**fields: Any) -> StatisticsQuery:
    days = {"start": dt.date(2026, 11, 20), "end": dt.date(2026, 11, 21)}
    return StatisticsQuery(**{"workspace_id": 1, "zone": BERLIN, **days, **fields})


def of(visits: list[Visit], *links: int, bots: bool = False) -> list[Visit]:
    return [one for one in visits if one.link_id in links and bool(one.is_bot) == bots]


def test_the_latest(loaded: Any, visits: list[Visit]) -> None:
    found = latest_visits(loaded, asked(), 20)
    mine = sorted(of(visits, *LINKS[1]), key=lambda one: -one.time_ms)[:20]
    assert [one.datetime.timestamp() for one in found] == [one.time_ms // 1000 for one in mine]
    told = [
        (one.link_id, one.country_code, one.city_name, one.device, one.referrer_host, one.utm_source)
        for one in found
    ]
    said = [
        (
            one.link_id,
            one.country_code,
            one.city_name,
            parse_device(one.agent),
            one.referrer_host,
            one.utm_source,
        )
        for one in mine
    ]
    assert told == said


def test_the_latest_of_some(loaded: Any, visits: list[Visit]) -> None:
    bots = latest_visits(loaded, asked(link_ids=(11,), bots=True), 5)
    assert {(one.link_id, one.bot_name) for one in bots} == {(11, "curl")}
    filtered = latest_visits(loaded, asked(filters={"country_code": "US", "browser_name": "Chrome"}), 5)
    assert {(one.country_code, one.device.browser_name) for one in filtered} == {("US", "Chrome")}
    day = asked(start=dt.date(2026, 11, 20), end=dt.date(2026, 11, 20))  # until 23:00 UTC
    [last] = latest_visits(loaded, day, 1)
    inside = [
        one for one in of(visits, *LINKS[1]) if one.time_ms < (NOW.timestamp() - 12.5 * 60 - 3600) * 1000
    ]
    assert last.datetime.timestamp() == max(one.time_ms for one in inside) // 1000
    assert latest_visits(loaded, asked(link_ids=()), 5) == []


def test_the_latest_click_of_a_link_is_a_persons(loaded: Any, visits: list[Visit]) -> None:
    found = {link: latest_click(loaded, link) for link in LINKS[1]}
    assert {link: when and when.timestamp() for link, when in found.items()} == {
        link: max(one.time_ms for one in of(visits, link)) // 1000 for link in LINKS[1]
    }
    assert latest_click(loaded, 999) is None


@pytest.mark.parametrize("links", [None, (10,), (10, 11)], ids=["all", "one", "two"])
def test_the_last_minutes(loaded: Any, visits: list[Visit], links: tuple[int, ...] | None) -> None:
    mine = sorted(of(visits, *(links or LINKS[1])), key=lambda one: one.time_ms)
    first_minute = int(NOW.timestamp()) // 60 - 29
    clicks: Counter[int] = Counter()
    visitors: Counter[int] = Counter()
    seen = set()
    for one in mine:
        minute = one.time_ms // 60_000 - first_minute
        if minute >= 0:
            clicks[minute] += 1
            visitors[minute] += one.visitor not in seen
            seen.add(one.visitor)
    found = by_minute(loaded, asked(link_ids=links), NOW, 30)
    assert [tuple(count) for count in found] == [(clicks[n], visitors[n]) for n in range(30)]


@pytest.mark.parametrize("links", [None, (10, 12)], ids=["all", "some"])
def test_the_links_visited_most(loaded: Any, visits: list[Visit], links: tuple[int, ...] | None) -> None:
    plain = Plain(of(visits, *(links or LINKS[1])), BERLIN, dt.date(2026, 11, 20), dt.date(2026, 11, 21))
    counts = plain.count(lambda one: one.link_id, apart=True)
    expected = sorted(counts.items(), key=lambda item: -item[1][0])
    assert [(id_, tuple(count)) for id_, count in by_link(loaded, asked(link_ids=links))] == expected
    assert len(by_link(loaded, asked(link_ids=links, limit=1))) == 1
    filtered = by_link(loaded, asked(link_ids=links, filters={"os_name": "iOS", "country_code": "DE"}))
    matching = [
        one for one in plain.visits if (parse_device(one.agent).os_name, one.country_code) == ("iOS", "DE")
    ]
    some = Plain(matching, BERLIN, plain.start, plain.end).count(lambda one: one.link_id, apart=True)
    assert {id_: tuple(count) for id_, count in filtered} == some
