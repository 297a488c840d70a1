"""Clicks and visitors by quarter of an hour, by day and by link, from the roll-ups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Select, Table, func, literal, select, union_all

from app.analytics.periods import Period
from app.analytics.rollup_models import LinkQuarter, OwnerQuarter
from app.analytics.scope import NONE, Bind, Scope, VisitCounts, add_counts

LINKS = cast("Table", LinkQuarter.__table__)
OWNERS = cast("Table", OwnerQuarter.__table__)
MAX_RUNS = 100  # SQLite takes 500 SELECTs in one statement


class Run(NamedTuple):
    """Consecutive days of equal length (24 hours, or one day of another length).

    `day`: the index of its first day in the period. `first`: its first quarter; `last`: the one after its
    end. `quarters`: the length of a day.
    """

    day: int
    first: int
    last: int
    quarters: int


def by_quarter(bind: Bind, scope: Scope, first: int, last: int) -> dict[int, VisitCounts]:
    """Clicks and visitors in each quarter of an hour from `first` up to, and without, `last`."""
    pageviews: Counter[int] = Counter()
    visitors: Counter[int] = Counter()
    for part in scope.parts:
        table = table_of(part)
        sums = select(table.c.quarter, func.sum(table.c.pageviews), func.sum(table.c.visitors))
        wanted = sums.where(*conditions(part, first, last)).group_by(table.c.quarter)
        for quarter, *counts in bind.execute(wanted):
            pageviews[quarter] += int(counts[0])
            visitors[quarter] += int(counts[1])
    return {number: VisitCounts(pageviews[number], visitors[number]) for number in sorted(pageviews)}


def by_day(bind: Bind, scope: Scope, period: Period) -> list[VisitCounts]:
    """Clicks and visitors on each day of the period."""
    counts = [NONE] * len(period.days)
    for part in scope.parts:
        table = table_of(part)
        sums = func.sum(table.c.pageviews), func.sum(table.c.visitors)
        for day, pageviews, visitors in select_daily(bind, part, period, *sums):
            counts[day] = add_counts([counts[day], VisitCounts(int(pageviews), int(visitors))])
    return counts


def of_links(bind: Bind, links: Sequence[int], period: Period) -> dict[int, list[int]]:
    """Human clicks on each link on each day of the period."""
    counts = {link_id: [0] * len(period.days) for link_id in links}
    for part in Scope(0, tuple(links)).parts:
        for day, pageviews, link_id in select_daily(
            bind, part, period, func.sum(LINKS.c.pageviews), groups=(LINKS.c.link_id,)
        ):
            counts[link_id][day] += int(pageviews)
    return counts


def select_daily(
    bind: Bind, scope: Scope, period: Period, *sums: Any, groups: Sequence[ColumnElement[Any]] = ()
) -> Iterator[Any]:
    """Rows of a day's index, its sums and its groups; one statement, unless the period has over 100 runs."""
    parts: list[Select[Any]] = []
    for run in split_runs(period):
        day = (table_of(scope).c.quarter - run.first) // run.quarters
        found = select((literal(run.day) + day).label("day"), *sums, *groups)
        parts.append(found.where(*conditions(scope, run.first, run.last)).group_by(day, *groups))
    for start in range(0, len(parts), MAX_RUNS):
        yield from bind.execute(union_all(*parts[start : start + MAX_RUNS]))


def split_runs(period: Period) -> Iterator[Run]:
    """The days of the period, split where clocks change."""
    begins = period.begins
    day = 0
    for number in range(1, len(begins)):
        length = begins[number] - begins[number - 1]
        is_end = number == len(begins) - 1 or begins[number + 1] - begins[number] != length
        if is_end:
            yield Run(day, begins[day], begins[number], length)
            day = number


def conditions(scope: Scope, first: int, last: int) -> list[ColumnElement[bool]]:
    table = table_of(scope)
    whose = (
        OWNERS.c.workspace_id == scope.workspace_id
        if scope.link_ids is None
        else LINKS.c.link_id.in_(scope.link_ids)
    )
    return [whose, table.c.is_bot.is_(scope.is_bot), table.c.quarter >= first, table.c.quarter < last]


def table_of(scope: Scope) -> Table:
    return OWNERS if scope.link_ids is None else LINKS
