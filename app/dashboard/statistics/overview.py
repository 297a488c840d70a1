"""Totals and chart of a statistics page, compared with an earlier period."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from app.analytics.readers import reader_of
from app.analytics.statistics import StatisticsResult, query_statistics
from app.core import clock
from app.core.extensions import db
from app.dashboard.statistics import figures
from app.dashboard.statistics.figures import Trend
from app.dashboard.statistics.periods import Day, Span, folded, intervals
from app.dashboard.statistics.scopes import PageScope
from app.dashboard.statistics.state import METRICS, PageState
from app.i18n import digits
from app.i18n.messages import gettext as _

MINUTES = 30
Counts = tuple[int, int]  # clicks and visitors


class Interval(NamedTuple):
    """An hour, day, week or month: its words, those for an axis, and its counts (None in the future)."""

    words: str
    short: str
    counts: Counts | None


class ChartPoint(NamedTuple):
    """A row of the table and a point of the chart, with the interval that it is compared with."""

    now: Interval
    before: Interval | None


@dataclass(frozen=True)
class Figure:
    """A figure above the chart. `metric` is drawn when the figure is chosen."""

    title: str
    value: str
    metric: str = ""
    change: Trend | None = None
    before: str = ""


def overview(scope: PageScope, state: PageState) -> dict[str, Any]:
    if state.period == "realtime":
        return realtime(scope, state)
    found, now = query_overview(scope, state, state.span)
    earlier, before = query_overview(scope, state, state.before) if state.before else (None, [])
    lines = [ChartPoint(each, other) for each, other in zip_longest(now, before) if each]
    return {
        "lines": lines,
        "totals": totals(found, compared(scope, state, now, before) if is_comparable(earlier) else None),
        "is_cut": is_cut(state),
        "covers": covers(found),
        "before_covers": covers(earlier),
        "is_empty": not found.pageviews,
        "intervals": intervals(state.span),
    }


def query_overview(scope: PageScope, state: PageState, span: Span) -> tuple[StatisticsResult, list[Interval]]:
    is_hourly = state.interval == "hour"
    asked = scope.statistics_query(state, "hour" if is_hourly else "overview", span)
    found = query_statistics(db.session, asked)
    return found, hours(scope, found, state, span) if is_hourly else days(found, state, span)


def hours(scope: PageScope, found: StatisticsResult, state: PageState, span: Span) -> list[Interval]:
    last = hour_now(scope) if span.end == state.today else 23
    names = [(f"{row['hour']:02}:00", row) for row in found.rows]
    return [Interval(name, name, counts_of(row) if row["hour"] <= last else None) for name, row in names]


def days(found: StatisticsResult, state: PageState, span: Span) -> list[Interval]:
    counts = {dt.date.fromisoformat(row["formatted_date"]): counts_of(row) for row in found.rows}
    return [
        Interval(
            figures.part_words(day, state.interval, span), figures.short_words(day, state.interval), some
        )
        for day, some in folded(counts, state.interval).items()
    ]


def counts_of(row: dict[str, Any]) -> Counts:
    return int(row["pageviews"]), int(row["visitors"])


def covers(found: StatisticsResult | None) -> str:
    """The days that a filtered result covers, if not all that were asked for; else "".

    Filters need single clicks, and these are deleted after a time.
    """
    if found is None or found.covers is None:
        return ""
    start, end = found.covers
    return figures.span_words(Span(start, end)) if start <= end else "no day"


def is_comparable(earlier: StatisticsResult | None) -> bool:
    """Whether the earlier period is known as a whole. A part of it would look like fewer clicks."""
    return earlier is not None and earlier.covers is None


def hour_now(scope: PageScope) -> int:
    return clock.now().astimezone(scope.zone).hour


def is_cut(state: PageState) -> bool:
    """Whether the period is today by hours: only the full hours so far can be compared with another day's."""
    return state.interval == "hour" and state.is_live


def compared(
    scope: PageScope, state: PageState, now: Sequence[Interval], before: Sequence[Interval]
) -> tuple[Counts, Counts]:
    """The counts now and before, from which the change is computed. Of a day that is not over only its full
    hours count, and the same hours of the other day.
    """
    last = hour_now(scope) if is_cut(state) else None
    return added(now[:last]), added(before[:last])


def added(some: Sequence[Interval]) -> Counts:
    counts = [part.counts for part in some if part.counts]
    return sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)


def totals(found: StatisticsResult, compared: tuple[Counts, Counts] | None) -> list[Figure]:
    """Clicks, visitors and clicks per visitor, with their earlier values if there is a comparison."""
    values = [digits(found.pageviews), digits(found.visitors), ratio(found.pageviews, found.visitors)]
    names = [(title, metric) for metric, title in METRICS.items()] + [(_("Clicks per visitor"), "")]
    if compared is None:
        return [Figure(title, value, metric) for (title, metric), value in zip(names, values, strict=True)]
    now, before = ((*counts, counts[0] / counts[1] if counts[1] else 0) for counts in compared)
    was = [digits(before[0]), digits(before[1]), digits(before[2], 2) if before[1] else ""]
    return [
        Figure(title, values[n], metric, figures.change(now[n], before[n]), was[n])
        for n, (title, metric) in enumerate(names)
    ]


def ratio(clicks: int, visitors: int) -> str:
    return digits(clicks / visitors, 2) if visitors else "–"


def realtime(scope: PageScope, state: PageState) -> dict[str, Any]:
    """The last half hour, by minutes."""
    now, zone = clock.now(), scope.zone
    around = Span(state.today - Day, state.today)  # half an hour may begin on the day before
    asked = scope.statistics_query(state, "hour", around)
    counts = reader_of(db.session).by_minute(asked, now, MINUTES)
    times = [(now - dt.timedelta(minutes=MINUTES - 1 - n)).astimezone(zone) for n in range(MINUTES)]
    parts = [
        Interval(f"{time:%H:%M}", f"{time:%H:%M}", (count.pageviews, count.visitors))
        for time, count in zip(times, counts, strict=True)
    ]
    sums = zip(METRICS, added(parts), strict=True)
    return {
        "lines": [ChartPoint(part, None) for part in parts],
        "totals": [Figure(METRICS[metric], digits(count), metric) for metric, count in sums],
        "is_empty": not any(count.pageviews for count in counts),
    }
