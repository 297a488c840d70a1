"""How many came, when, and how many was it before?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from app import clock
from app.clicks.latest import by_minute
from app.clicks.statistics import Answer, answer
from app.dashboard import pages
from app.dashboard.statistics import figures
from app.dashboard.statistics.figures import Change
from app.dashboard.statistics.periods import Day, Span, folded, intervals
from app.dashboard.statistics.scopes import Scope
from app.dashboard.statistics.state import METRICS, State
from app.extensions import db
from app.languages import digits

MINUTES = 30
Counts = tuple[int, int]  # clicks and visitors


class Part(NamedTuple):
    """An hour, day, week or month: its words, those on an axis, and its counts (none where it is to come)."""

    words: str
    short: str
    counts: Counts | None


class Line(NamedTuple):
    """A row of the table and point of the chart, with the part that it is compared with."""

    now: Part
    before: Part | None


@dataclass(frozen=True)
class Total:
    """A figure above the chart. `metric` is what choosing it draws."""

    title: str
    value: str
    metric: str = ""
    change: Change | None = None
    before: str = ""


def overview(scope: Scope, state: State) -> dict[str, Any]:
    if state.period == "realtime":
        return realtime(scope, state)
    found, now = told(scope, state, state.span)
    earlier, before = told(scope, state, state.before) if state.before else (None, [])
    lines = [Line(each, other) for each, other in zip_longest(now, before) if each]
    return {
        "lines": lines,
        "totals": totals(found, compared(state, now, before) if is_comparable(earlier) else None),
        "is_cut": is_cut(state),
        "covers": covers(found),
        "before_covers": covers(earlier),
        "is_empty": not found.pageviews,
        "intervals": intervals(state.span),
    }


def told(scope: Scope, state: State, span: Span) -> tuple[Answer, list[Part]]:
    found = answer(db.session, scope.asked(state, "hour" if state.interval == "hour" else "overview", span))
    return found, hours(found, state, span) if state.interval == "hour" else days(found, state, span)


def hours(found: Answer, state: State, span: Span) -> list[Part]:
    last = hour_now() if span.end == state.today else 23
    names = [(f"{row['hour']:02}:00", row) for row in found.rows]
    return [Part(name, name, counts_of(row) if row["hour"] <= last else None) for name, row in names]


def days(found: Answer, state: State, span: Span) -> list[Part]:
    counts = {dt.date.fromisoformat(row["formatted_date"]): counts_of(row) for row in found.rows}
    return [
        Part(figures.part_words(day, state.interval, span), figures.short_words(day, state.interval), some)
        for day, some in folded(counts, state.interval).items()
    ]


def counts_of(row: dict[str, Any]) -> Counts:
    return int(row["pageviews"]), int(row["visitors"])


def covers(found: Answer | None) -> str:
    """What a filtered answer is of, where it is not of all days asked for: filters look at single clicks, and
    these are kept for a while only."""
    if found is None or found.covers is None:
        return ""
    start, end = found.covers
    return figures.span_words(Span(start, end)) if start <= end else "no day"


def is_comparable(earlier: Answer | None) -> bool:
    """Is it known as a whole? Less would be taken for fewer clicks."""
    return earlier is not None and earlier.covers is None


def hour_now() -> int:
    return clock.now().astimezone(pages.zone()).hour


def is_cut(state: State) -> bool:
    """Is it a day that is not over, of which only the hours so far can be compared with another's?"""
    return state.interval == "hour" and state.is_live


def compared(state: State, now: Sequence[Part], before: Sequence[Part]) -> tuple[Counts, Counts]:
    """The counts that a change is reckoned from: of a day that is not over, its full hours and the same ones
    of the other day."""
    last = hour_now() if is_cut(state) else None
    return added(now[:last]), added(before[:last])


def added(some: Sequence[Part]) -> Counts:
    counts = [part.counts for part in some if part.counts]
    return sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)


def totals(found: Answer, compared: tuple[Counts, Counts] | None) -> list[Total]:
    """Clicks, visitors, and how many clicks each of these made; with what they were before, if compared."""
    values = [digits(found.pageviews), digits(found.visitors), ratio(found.pageviews, found.visitors)]
    names = [(title, metric) for metric, title in METRICS.items()] + [("Clicks per visitor", "")]
    if compared is None:
        return [Total(title, value, metric) for (title, metric), value in zip(names, values, strict=True)]
    now, before = ((*counts, counts[0] / counts[1] if counts[1] else 0) for counts in compared)
    was = [digits(before[0]), digits(before[1]), digits(before[2], 2) if before[1] else ""]
    return [
        Total(title, values[n], metric, figures.change(now[n], before[n]), was[n])
        for n, (title, metric) in enumerate(names)
    ]


def ratio(clicks: int, visitors: int) -> str:
    return digits(clicks / visitors, 2) if visitors else "–"


def realtime(scope: Scope, state: State) -> dict[str, Any]:
    """The last half hour, by minutes."""
    now, zone = clock.now(), pages.zone()
    around = Span(state.today - Day, state.today)  # half an hour may begin on the day before
    counts = by_minute(db.session, scope.asked(state, "hour", around), now, MINUTES)
    times = [(now - dt.timedelta(minutes=MINUTES - 1 - n)).astimezone(zone) for n in range(MINUTES)]
    parts = [
        Part(f"{time:%H:%M}", f"{time:%H:%M}", (count.pageviews, count.visitors))
        for time, count in zip(times, counts, strict=True)
    ]
    sums = zip(METRICS, added(parts), strict=True)
    return {
        "lines": [Line(part, None) for part in parts],
        "totals": [Total(METRICS[metric], digits(count), metric) for metric, count in sums],
        "is_empty": not any(count.pageviews for count in counts),
    }
