"""What happened to somebody's links?"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from app.clicks import ledger, raw, shares, sums
from app.clicks.dimensions import DIMENSIONS, HOUR, OVERVIEW, TYPES
from app.clicks.periods import ONE_DAY, QUARTERS, Period, moment
from app.clicks.scope import NONE, Bind, Count, Scope, added

__all__ = [
    "DIMENSIONS",
    "TYPES",
    "Answer",
    "Asked",
    "Report",
    "answer",
    "before",
    "hours_of_week",
    "last_days",
    "report",
]

HOURS = 24
DAYS_OF_WEEK = 7
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question. `link_ids` None means all of the user's links; else whoever asks has seen to it that they
    are his, and of several each one's visitors are counted and added up. A filter's value None means unknown.
    Both days are included."""

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
class Report:
    """`rows`, `pageviews` and `covers` as an answer has them."""

    rows: list[Row]
    pageviews: int
    covers: tuple[dt.date, dt.date] | None = None


@dataclass(frozen=True)
class Answer:
    """`rows` as the API gives them; totals of the whole period, whatever the rows leave out.

    `covers` is None where that is all that was asked for. With filters, which need the rows of single visits,
    it may be fewer days: those these are still known of, and none at all where the first is after the last.
    """

    rows: list[Row]
    pageviews: int
    visitors: int
    covers: tuple[dt.date, dt.date] | None = None


def answer(session: Bind, asked: Asked) -> Answer:
    period, (known, covers) = asked.period, covered(session, asked)
    if asked.type == HOUR:
        counts = by_hour(session, asked, known)
        return Answer([row(HOUR, hour, count) for hour, count in enumerate(counts)], *added(counts), covers)
    counts = by_day(session, asked, known)
    if asked.type == OVERVIEW:
        days = zip(period.days, counts, strict=True)
        return Answer([row("formatted_date", str(day), count) for day, count in days], *added(counts), covers)
    return Answer(ranked(session, asked, values(session, asked, known)), *added(counts), covers)


def report(session: Bind, asked: Asked) -> Report:
    """The same without the visitors of the whole period: beside a list nobody needs them, and with filters
    they take as long again to count."""
    if not asked.filters or asked.type not in DIMENSIONS:
        found = answer(session, asked)
        return Report(found.rows, found.pageviews, found.covers)
    known, covers = covered(session, asked)
    counts = values(session, asked, known)
    return Report(ranked(session, asked, counts), added(counts.values()).pageviews, covers)


def values(session: Bind, asked: Asked, known: int) -> shares.Shares:
    return shares.by_value(session, asked.scope, asked.type, known, asked.period.last)


def ranked(session: Bind, asked: Asked, found: shares.Shares) -> list[Row]:
    most = shares.ranked(session, found, asked.limit)
    return [row(asked.type, value, count) for value, count in most]


def before(asked: Asked) -> Asked:
    """The same question about as many days, right before."""
    length = asked.end - asked.start + ONE_DAY
    return replace(asked, start=asked.start - length, end=asked.end - length)


def hours_of_week(session: Bind, asked: Asked) -> list[list[Count]]:
    """Visits in each hour of each day of the week, Monday first."""
    known, _ = covered(session, asked)
    found = folded(
        by_quarter(session, asked, known),
        DAYS_OF_WEEK * HOURS,
        lambda quarter: (when := moment(quarter, asked.zone)).weekday() * HOURS + when.hour,
    )
    return [found[start : start + HOURS] for start in range(0, len(found), HOURS)]


def last_days(
    session: Bind, links: Sequence[int], days: int, zone: ZoneInfo, today: dt.date | None = None
) -> dict[int, list[int]]:
    """People's visits of each link on each of the last days, today last."""
    last = today or dt.datetime.now(zone).date()
    return sums.of_links(session, links, Period(last - (days - 1) * ONE_DAY, last, zone))


def covered(session: Bind, asked: Asked) -> tuple[int, tuple[dt.date, dt.date] | None]:
    """The quarter of an hour from which on there is an answer, and which days these are if not all."""
    period = asked.period
    pruned = ledger.last_pruned(session, asked.user_id, period.first, period.last) if asked.filters else None
    if pruned is None:
        return period.first, None
    missing = min(bisect_left(period.begins, (pruned + 1) * QUARTERS), len(period.days))
    return period.begins[missing], (asked.start + missing * ONE_DAY, asked.end)


def by_day(session: Bind, asked: Asked, known: int) -> list[Count]:
    period = asked.period
    if not asked.filters:
        return sums.by_day(session, asked.scope, period)
    return folded(by_quarter(session, asked, known), len(period.days), period.number)


def by_hour(session: Bind, asked: Asked, known: int) -> list[Count]:
    return folded(by_quarter(session, asked, known), HOURS, asked.period.hour)


def by_quarter(session: Bind, asked: Asked, known: int) -> Mapping[int, Count]:
    found = raw.by_quarter if asked.filters else sums.by_quarter
    return found(session, asked.scope, known, asked.period.last)


def folded(quarters: Mapping[int, Count], length: int, number: Callable[[int], int]) -> list[Count]:
    """So many counts, each of the quarters that have its number."""
    counts = [NONE] * length
    for quarter, count in quarters.items():
        counts[number(quarter)] = added([counts[number(quarter)], count])
    return counts


def row(name: str, value: Any, count: Count) -> Row:
    return {name: value, **count._asdict()}
