"""A known load of clicks, and a plain count of it for comparison."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from app.analytics.statistics import TYPES, StatisticsQuery
from app.journal.codec import Visit
from app.redirects.user_agent import parse_device

WEBKIT, APPLE = "AppleWebKit/537.36 (KHTML, like Gecko)", "AppleWebKit/605.1.15 (KHTML, like Gecko)"
PHONE = "iPhone; CPU iPhone OS 18_6 like Mac OS X"
AGENTS = (
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/141.0.0.0 Safari/537.36",
    f"Mozilla/5.0 ({PHONE}) {APPLE} Version/18.6 Mobile/15E148 Safari/604.1",
    f"Mozilla/5.0 (Linux; Android 10; K) {WEBKIT} Chrome/141.0.0.0 Safari/537.36",
    "",
)
REFERRERS = (("", ""), ("news.example", "/"), ("news.example", "/story"), ("shop.example", "/"))
PLACES = (("DE", "EU", "Köln"), ("DE", "EU", "Berlin"), ("US", "NA", ""), ("", "", ""))
UTM = (("", "", ""), ("letter", "mail", "may"), ("letter", "mail", ""))

VALUES: dict[str, Callable[[Visit], str]] = {
    "referrer_path": lambda visit: visit.referrer_host + visit.referrer_path,
    "browser_language": lambda visit: visit.language,
    "os_name": lambda visit: parse_device(visit.agent).os_name,
    "browser_name": lambda visit: parse_device(visit.agent).browser_name,
    "device_type": lambda visit: parse_device(visit.agent).device_type,
}


def load(
    count: int, begin: dt.datetime, days: int, links: Mapping[int, Sequence[int]], rng: Random
) -> list[Visit]:
    """Clicks in random order, of few visitors who come often with different values each time.

    `links` has the ids of each user's links.
    """
    return [visit(rng, to_ms(begin), days, links) for _ in range(count)]


def visit(rng: Random, begin_ms: int, days: int, links: Mapping[int, Sequence[int]]) -> Visit:
    time_ms = begin_ms + rng.randrange(days * 86_400_000)
    workspace_id = rng.choice([*links])
    number = rng.randrange(12)
    country, continent, city = rng.choice(PLACES)
    return Visit(
        time_ms,
        rng.choice(links[workspace_id]),
        workspace_id,
        is_bot=int(number < 3),
        bot_name="curl" if number < 3 else "",
        visitor=f"{workspace_id}-{time_ms // 86_400_000}-{number}",
        country_code=country,
        continent_code=continent,
        city_name=city,
        agent=AGENTS[number % len(AGENTS)],
        language=rng.choice(("de", "en", "")),
        **dict(zip(("referrer_host", "referrer_path"), rng.choice(REFERRERS), strict=True)),
        **dict(zip(("utm_source", "utm_medium", "utm_campaign"), rng.choice(UTM), strict=True)),
        destination=rng.choice(("https://a.example/", "https://b.example/")),
    )


def to_ms(moment: dt.datetime) -> int:
    return int(moment.timestamp()) * 1000


def value(name: str, visit: Visit) -> str | None:
    read = VALUES.get(name)
    return (read(visit) if read else str(getattr(visit, name))) or None


class Plain:
    """Counts clicks one by one: slow, but simple enough to be obviously correct."""

    def __init__(self, visits: Iterable[Visit], zone: ZoneInfo, start: dt.date, end: dt.date) -> None:
        self.visits = sorted(visits, key=lambda visit: visit.time_ms)
        self.zone, self.start, self.end = zone, start, end

    def local(self, visit: Visit) -> dt.datetime:
        return dt.datetime.fromtimestamp(visit.time_ms / 1000, self.zone)

    def is_inside(self, visit: Visit) -> bool:
        return self.start <= self.local(visit).date() <= self.end

    def count(self, key: Callable[[Visit], Any], *, over_links: bool = False, apart: bool = False) -> Any:
        """{key: (pageviews, visitors)}.

        A visitor counts on their first click of a UTC day: for each link if `over_links`, for each key if
        `apart`.
        """
        found: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
        seen = set()
        for visit in self.visits:
            who: tuple[object, ...] = (visit.time_ms // 86_400_000, visit.visitor)
            who += (visit.link_id if over_links else 0, key(visit) if apart else 0)
            if self.is_inside(visit):
                found[key(visit)][0] += 1
                found[key(visit)][1] += who not in seen
            seen.add(who)
        return {each: tuple(counts) for each, counts in found.items()}

    def rows(self, name: str, *, over_links: bool = False) -> list[dict[str, Any]]:
        """The rows that the answer should have."""
        if name == "overview":
            found = self.count(lambda visit: self.local(visit).date(), over_links=over_links)
            days = [self.start + dt.timedelta(n) for n in range((self.end - self.start).days + 1)]
            return [row("formatted_date", day.isoformat(), found.get(day)) for day in days]
        if name == "hour":
            found = self.count(lambda visit: self.local(visit).hour, over_links=over_links)
            return [row("hour", hour, found.get(hour)) for hour in range(24)]
        found = self.count(lambda visit: value(name, visit), over_links=over_links, apart=True)
        order = sorted(found, key=lambda v: (-found[v][0], -found[v][1], v is None, v or ""))
        return [row(name, each, found[each]) for each in order]


def row(name: str, key: Any, counts: tuple[int, int] | None) -> dict[str, Any]:
    pageviews, visitors = counts or (0, 0)
    return {name: key, "pageviews": pageviews, "visitors": visitors}


# the load of most tests. Clocks are set back on 2026-10-25 in Berlin, and on 2026-11-01 in New York
BEGIN = dt.datetime(2026, 10, 23, tzinfo=dt.UTC)
DAYS = 12
LINKS = {1: (10, 11, 12), 2: (20,)}
START, END = dt.date(2026, 10, 24), dt.date(2026, 11, 2)


def plain(visits: list[Visit], asked: StatisticsQuery) -> Plain:
    wanted = [
        visit
        for visit in visits
        if visit.workspace_id == asked.workspace_id
        and (asked.link_ids is None or visit.link_id in asked.link_ids)
        and bool(visit.is_bot) == asked.bots
        and all(value(name, visit) == text for name, text in asked.filters.items())
    ]
    return Plain(wanted, asked.zone, asked.start, asked.end)


def questions(**fields: Any) -> list[StatisticsQuery]:
    common = {"workspace_id": 1, "start": START, "end": END, "zone": ZoneInfo("UTC"), "limit": 1000, **fields}
    return [StatisticsQuery(type=name, **common) for name in TYPES]
