"""Statistics queries: answers by day, by hour and by dimension, for one link or all links of an owner."""

# see docs/decisions/2026-11-21-statistics.md
from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from app.analytics.click_reader import Shares
from app.analytics.dimensions import DIMENSIONS, HOUR, OVERVIEW, TYPES
from app.analytics.periods import ONE_DAY, Period, start_of_quarter
from app.analytics.query import Covered, StatisticsQuery, covered_after
from app.analytics.readers import ClickReader, reader_of
from app.analytics.scope import NONE, Bind, VisitCounts, add_counts

__all__ = [
    "DIMENSIONS",
    "TYPES",
    "StatisticsQuery",
    "StatisticsReport",
    "StatisticsResult",
    "hours_of_week",
    "last_days",
    "make_report",
    "preceding_query",
    "query_statistics",
]

HOURS = 24
DAYS_OF_WEEK = 7
Row = dict[str, Any]


@dataclass(frozen=True)
class StatisticsReport:
    """`rows`, `pageviews` and `covers` as in `StatisticsResult`."""

    rows: list[Row]
    pageviews: int
    covers: tuple[dt.date, dt.date] | None = None


@dataclass(frozen=True)
class StatisticsResult:
    """`rows` as in the API; totals of the whole period, whatever the rows leave out.

    `covers` is None if the answer covers the whole period. Filters need rows of single clicks, unless the
    roll-ups know the answer (`is_rolled_up`), and these may exist for fewer days: then `covers` has the first
    and last of these. If the first is after the last, there are none.
    """

    rows: list[Row]
    pageviews: int
    visitors: int
    covers: tuple[dt.date, dt.date] | None = None


def query_statistics(session: Bind, asked: StatisticsQuery) -> StatisticsResult:
    reader = reader_of(session)
    period, (known, covers) = asked.period, find_answered(reader, asked)
    if asked.type == HOUR:
        counts = by_hour(reader, asked, known)
        return StatisticsResult(
            [row(HOUR, hour, count) for hour, count in enumerate(counts)], *add_counts(counts), covers
        )
    counts = by_day(reader, asked, known)
    if asked.type == OVERVIEW:
        days = zip(period.days, counts, strict=True)
        return StatisticsResult(
            [row("formatted_date", str(day), count) for day, count in days], *add_counts(counts), covers
        )
    return StatisticsResult(
        rank_rows(reader, asked, count_values(reader, asked, known)), *add_counts(counts), covers
    )


def make_report(session: Bind, asked: StatisticsQuery) -> StatisticsReport:
    """Answers a query without the visitors of the whole period.

    A list does not show them, and with filters counting them takes as long as the list itself.
    """
    if not asked.filters or asked.type not in DIMENSIONS:
        found = query_statistics(session, asked)
        return StatisticsReport(found.rows, found.pageviews, found.covers)
    reader = reader_of(session)
    known, covers = find_answered(reader, asked)
    counts = count_values(reader, asked, known)
    return StatisticsReport(rank_rows(reader, asked, counts), add_counts(counts.values()).pageviews, covers)


def count_values(reader: ClickReader, asked: StatisticsQuery, known: int) -> Shares:
    return reader.by_value(asked.scope, asked.type, known, asked.period.last)


def rank_rows(reader: ClickReader, asked: StatisticsQuery, found: Shares) -> list[Row]:
    return [row(asked.type, value, count) for value, count in reader.rank_values(found, asked.limit)]


def preceding_query(asked: StatisticsQuery) -> StatisticsQuery:
    """The same query for the preceding period of equal length."""
    length = asked.end - asked.start + ONE_DAY
    return replace(asked, start=asked.start - length, end=asked.end - length)


def hours_of_week(session: Bind, asked: StatisticsQuery) -> list[list[VisitCounts]]:
    """Clicks and visitors in each hour of each day of the week, Monday first."""
    reader = reader_of(session)
    known, _ = find_covered(reader, asked)
    found = fold_quarters(
        reader.by_quarter(asked.scope, known, asked.period.last),
        DAYS_OF_WEEK * HOURS,
        lambda quarter: (when := start_of_quarter(quarter, asked.zone)).weekday() * HOURS + when.hour,
    )
    return [found[start : start + HOURS] for start in range(0, len(found), HOURS)]


def last_days(
    session: Bind, links: Sequence[int], days: int, zone: ZoneInfo, today: dt.date | None = None
) -> dict[int, list[int]]:
    """Human clicks on each link on each of the last days, today last."""
    last = today or dt.datetime.now(zone).date()
    return reader_of(session).of_links(links, Period(last - (days - 1) * ONE_DAY, last, zone))


def is_rolled_up(asked: StatisticsQuery) -> bool:
    """Whether roll-ups know the answer with filters: by day, or by the dimension of the only filter."""
    return len(asked.filters) == 1 and asked.type in {OVERVIEW, *asked.filters}


def find_answered(reader: ClickReader, asked: StatisticsQuery) -> Covered:
    """As `find_covered`; where roll-ups know the answer, the whole period."""
    return (asked.period.first, None) if is_rolled_up(asked) else find_covered(reader, asked)


def find_covered(reader: ClickReader, asked: StatisticsQuery) -> Covered:
    """The first quarter of an hour that can be answered, and the days covered, if these are not all."""
    period = asked.period
    pruned = reader.last_pruned(asked.workspace_id, period.first, period.last) if asked.filters else None
    return covered_after(pruned, asked)


def by_day(reader: ClickReader, asked: StatisticsQuery, known: int) -> list[VisitCounts]:
    period = asked.period
    if not asked.filters:
        return reader.by_day(asked.scope, period)
    found = reader.of_filter if is_rolled_up(asked) else reader.by_quarter
    return fold_quarters(found(asked.scope, known, period.last), len(period.days), period.number)


def by_hour(reader: ClickReader, asked: StatisticsQuery, known: int) -> list[VisitCounts]:
    found = reader.by_quarter(asked.scope, known, asked.period.last)
    return fold_quarters(found, HOURS, asked.period.hour)


def fold_quarters(
    quarters: Mapping[int, VisitCounts], length: int, number: Callable[[int], int]
) -> list[VisitCounts]:
    """Sums quarters into `length` counts; `number` maps a quarter to its index."""
    counts = [NONE] * length
    for quarter, count in quarters.items():
        counts[number(quarter)] = add_counts([counts[number(quarter)], count])
    return counts


def row(name: str, value: Any, count: VisitCounts) -> Row:
    return {name: value, **count._asdict()}
