"""Statistics queries: answers by day, by hour and by dimension, for one link or all links of an owner."""

# see docs/decisions/2026-11-21-statistics.md
from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from app.analytics import breakdown, day_state, raw_queries, totals
from app.analytics.dimensions import DIMENSIONS, HOUR, OVERVIEW, TYPES
from app.analytics.periods import ONE_DAY, QUARTERS, Period, start_of_quarter
from app.analytics.scope import NONE, Bind, Scope, VisitCounts, add_counts

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


@dataclass(frozen=True, kw_only=True)
class StatisticsQuery:
    """A statistics query. Both days are included.

    `link_ids` None means all of the user's links. Else the caller has checked that they are the user's; the
    visitors of several links are counted for each and added up. A filter's value None means unknown.
    """

    user_id: int
    start: dt.date
    end: dt.date
    zone: ZoneInfo
    link_ids: tuple[int, ...] | None = None
    type: str = OVERVIEW
    bots: bool = False
    filters: Mapping[str, str | None] = field(default_factory=dict)
    limit: int = 100

    @property
    def period(self) -> Period:
        return Period(self.start, self.end, self.zone)

    @property
    def scope(self) -> Scope:
        return Scope(self.user_id, self.link_ids, self.bots, self.filters)


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
    period, (known, covers) = asked.period, find_answered(session, asked)
    if asked.type == HOUR:
        counts = by_hour(session, asked, known)
        return StatisticsResult(
            [row(HOUR, hour, count) for hour, count in enumerate(counts)], *add_counts(counts), covers
        )
    counts = by_day(session, asked, known)
    if asked.type == OVERVIEW:
        days = zip(period.days, counts, strict=True)
        return StatisticsResult(
            [row("formatted_date", str(day), count) for day, count in days], *add_counts(counts), covers
        )
    return StatisticsResult(
        rank_rows(session, asked, count_values(session, asked, known)), *add_counts(counts), covers
    )


def make_report(session: Bind, asked: StatisticsQuery) -> StatisticsReport:
    """Answers a query without the visitors of the whole period.

    A list does not show them, and with filters counting them takes as long as the list itself.
    """
    if not asked.filters or asked.type not in DIMENSIONS:
        found = query_statistics(session, asked)
        return StatisticsReport(found.rows, found.pageviews, found.covers)
    known, covers = find_answered(session, asked)
    counts = count_values(session, asked, known)
    return StatisticsReport(rank_rows(session, asked, counts), add_counts(counts.values()).pageviews, covers)


def count_values(session: Bind, asked: StatisticsQuery, known: int) -> breakdown.Shares:
    return breakdown.by_value(session, asked.scope, asked.type, known, asked.period.last)


def rank_rows(session: Bind, asked: StatisticsQuery, found: breakdown.Shares) -> list[Row]:
    most = breakdown.rank_values(session, found, asked.limit)
    return [row(asked.type, value, count) for value, count in most]


def preceding_query(asked: StatisticsQuery) -> StatisticsQuery:
    """The same query for the preceding period of equal length."""
    length = asked.end - asked.start + ONE_DAY
    return replace(asked, start=asked.start - length, end=asked.end - length)


def hours_of_week(session: Bind, asked: StatisticsQuery) -> list[list[VisitCounts]]:
    """Clicks and visitors in each hour of each day of the week, Monday first."""
    known, _ = find_covered(session, asked)
    found = fold_quarters(
        by_quarter(session, asked, known),
        DAYS_OF_WEEK * HOURS,
        lambda quarter: (when := start_of_quarter(quarter, asked.zone)).weekday() * HOURS + when.hour,
    )
    return [found[start : start + HOURS] for start in range(0, len(found), HOURS)]


def last_days(
    session: Bind, links: Sequence[int], days: int, zone: ZoneInfo, today: dt.date | None = None
) -> dict[int, list[int]]:
    """Human clicks on each link on each of the last days, today last."""
    last = today or dt.datetime.now(zone).date()
    return totals.of_links(session, links, Period(last - (days - 1) * ONE_DAY, last, zone))


def is_rolled_up(asked: StatisticsQuery) -> bool:
    """Whether roll-ups know the answer with filters: by day, or by the dimension of the only filter."""
    return len(asked.filters) == 1 and asked.type in {OVERVIEW, *asked.filters}


def find_answered(session: Bind, asked: StatisticsQuery) -> tuple[int, tuple[dt.date, dt.date] | None]:
    """As `find_covered`; where roll-ups know the answer, the whole period."""
    return (asked.period.first, None) if is_rolled_up(asked) else find_covered(session, asked)


def find_covered(session: Bind, asked: StatisticsQuery) -> tuple[int, tuple[dt.date, dt.date] | None]:
    """The first quarter of an hour that can be answered, and the days covered, if these are not all."""
    period = asked.period
    pruned = (
        day_state.last_pruned(session, asked.user_id, period.first, period.last) if asked.filters else None
    )
    if pruned is None:
        return period.first, None
    missing = min(bisect_left(period.begins, (pruned + 1) * QUARTERS), len(period.days))
    return period.begins[missing], (asked.start + missing * ONE_DAY, asked.end)


def by_day(session: Bind, asked: StatisticsQuery, known: int) -> list[VisitCounts]:
    period = asked.period
    if not asked.filters:
        return totals.by_day(session, asked.scope, period)
    quarters = (
        breakdown.of_filter(session, asked.scope, known, period.last)
        if is_rolled_up(asked)
        else by_quarter(session, asked, known)
    )
    return fold_quarters(quarters, len(period.days), period.number)


def by_hour(session: Bind, asked: StatisticsQuery, known: int) -> list[VisitCounts]:
    return fold_quarters(by_quarter(session, asked, known), HOURS, asked.period.hour)


def by_quarter(session: Bind, asked: StatisticsQuery, known: int) -> Mapping[int, VisitCounts]:
    found = raw_queries.by_quarter if asked.filters else totals.by_quarter
    return found(session, asked.scope, known, asked.period.last)


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
