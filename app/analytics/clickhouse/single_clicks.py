"""Single clicks in ClickHouse: the latest ones, those of the last minutes, and pages for exports."""

from __future__ import annotations

import datetime as dt
from typing import Any

from app.analytics.click_reader import LatestVisit, VisitPage
from app.analytics.clickhouse.conditions import raw
from app.analytics.clickhouse.counting import Counting
from app.analytics.latest import MINUTE_MS
from app.analytics.periods import DAY_MS, QUARTER_MS
from app.analytics.query import StatisticsQuery
from app.analytics.scope import NONE, Scope, VisitCounts, add_counts
from app.analytics.visit_pages import WORDS
from app.core.clock import written_ms
from app.redirects.user_agent import Device

BATCH_SIZE = 5000
# the columns of the texts of an export
TEXTS = ["language" if name == "browser_language" else name for name in WORDS]
SHOWN = (
    "country_code",
    "city_name",
    "language",
    "referrer_host",
    "referrer_path",
    "utm_source",
    "destination",
    "bot_name",
)
DEVICE = ("device_type", "os_name", "browser_name")
FIRST_WINDOW = 1  # days that are looked at first for the newest, or the next, clicks


def latest_visits(counting: Counting, asked: StatisticsQuery, limit: int) -> list[LatestVisit]:
    """Looks at the last day first: clicks are kept by link, so a longer time means reading all of it."""
    first, last = asked.period.first * QUARTER_MS, asked.period.last * QUARTER_MS
    days, found = FIRST_WINDOW, []
    end = min(last, max(newest_moment(counting, asked) + 1, first))
    while True:
        begin = max(first, end - days * DAY_MS)
        found = newest(counting, asked, begin, end, limit)
        if len(found) >= limit or begin == first:
            return [made(row) for row in found]
        days *= 8


def newest_moment(counting: Counting, asked: StatisticsQuery) -> int:
    """The end of the quarter of an hour of the newest click, from the sums, in ms; 0 where there is none."""
    scope, period = asked.scope, asked.period
    quarters = [
        row[0]
        for part in scope.parts
        for row in counting.pageviews(part, period.first, period.last, "intDiv(quarter, 96)")
    ]
    return (max(quarters) + 1) * DAY_MS if quarters else 0


def newest(
    counting: Counting, asked: StatisticsQuery, begin: int, end: int, limit: int
) -> list[tuple[Any, ...]]:
    columns = ", ".join(("time_ms", "id", "link_id", *DEVICE, *SHOWN))
    found: list[tuple[Any, ...]] = []
    for part in asked.scope.parts:
        where = raw(part, begin, end, counting.shelves(part.workspace_id))
        found += counting.server.query(
            f"SELECT {columns} FROM click WHERE {where.text} AND time_ms >= {begin:d}"
            f" ORDER BY time_ms DESC, id DESC LIMIT {limit:d}",
            **where.values,
        )
    return sorted(found, key=lambda row: (-row[0], -row[1]))[:limit]


def made(row: tuple[Any, ...]) -> LatestVisit:
    time_ms, id_, link_id, *texts = row
    device, words = texts[: len(DEVICE)], texts[len(DEVICE) :]
    return LatestVisit(
        id=id_,
        datetime=dt.datetime.fromtimestamp(time_ms // 1000, dt.UTC),
        link_id=link_id,
        device=Device(**dict(zip(DEVICE, device, strict=True))),
        **dict(zip(SHOWN, words, strict=True)),
    )


def latest_click(counting: Counting, link_id: int) -> dt.datetime | None:
    where = raw(Scope(0, (link_id,)), 0, 2**62, counting.shelves(0))
    [(found,)] = counting.server.query(f"SELECT maxOrNull(time_ms) FROM click WHERE {where.text}")
    return None if found is None else dt.datetime.fromtimestamp(found // 1000, dt.UTC)


def by_minute(
    counting: Counting, asked: StatisticsQuery, now: dt.datetime, minutes: int
) -> list[VisitCounts]:
    """A visitor counts in the minute of their first click among these."""
    last = int(now.timestamp() * 1000) // MINUTE_MS
    begin, end = (last - minutes + 1) * MINUTE_MS, (last + 1) * MINUTE_MS
    counts = [NONE] * minutes
    for part in asked.scope.parts:
        where = raw(part, begin, end, counting.shelves(part.workspace_id))
        inside = f"{where.text} AND time_ms >= {begin:d}"
        found = counting.server.query(
            f"SELECT minute, sum(n), sum(v) FROM (SELECT intDiv(time_ms - {begin:d}, {MINUTE_MS}) AS minute,"
            f" count() AS n, 0 AS v FROM click WHERE {inside} GROUP BY minute"
            f" UNION ALL SELECT intDiv(came - {begin:d}, {MINUTE_MS}) AS minute, 0, count() FROM (SELECT"
            f" min(time_ms) AS came FROM click WHERE {inside} AND visitor != '' GROUP BY visitor) GROUP"
            f" BY minute)"
            " GROUP BY minute",
            **where.values,
        )
        for minute, pageviews, visitors in found:
            counts[minute] = add_counts([counts[minute], VisitCounts(int(pageviews), int(visitors))])
    return counts


def visit_page(counting: Counting, scope: Scope, asked: StatisticsQuery, after: tuple[int, int]) -> VisitPage:
    """Looks at a day first and then at more: without an order by time, each look reads all of its time."""
    begin, last = after[0], asked.period.last * QUARTER_MS
    days = FIRST_WINDOW
    while True:
        end = min(begin + days * DAY_MS, last)
        found = page_within(counting, scope, after, end) if begin < last else []
        if len(found) == BATCH_SIZE or end >= last:
            break
        days *= 2
    rows = [[written_ms(row[0]), row[2], int(row[3]), *row[4:]] for row in found]
    return VisitPage(rows, (found[-1][0], found[-1][1]) if len(found) == BATCH_SIZE else None)


def page_within(counting: Counting, scope: Scope, after: tuple[int, int], end: int) -> list[tuple[Any, ...]]:
    where = raw(scope, after[0], end, counting.shelves(scope.workspace_id))
    columns = ", ".join(("time_ms", "id", "link_id", "is_bot", *TEXTS))
    return counting.server.query(
        f"SELECT {columns} FROM click WHERE {where.text} AND (time_ms, id) > ({after[0]:d}, {after[1]:d})"
        f" ORDER BY time_ms, id LIMIT {BATCH_SIZE}",
        **where.values,
    )
