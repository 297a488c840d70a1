"""What do the sums by quarters of an hour say?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Select, Table, func, literal, select, union_all

from app.clicks.periods import Period
from app.clicks.rollup_models import LinkQuarter, OwnerQuarter
from app.clicks.scope import NONE, Bind, Count, Scope, added

LINKS = cast("Table", LinkQuarter.__table__)
OWNERS = cast("Table", OwnerQuarter.__table__)
MOST_RUNS = 100  # SQLite takes 500 SELECTs in one statement


class Run(NamedTuple):
    """Days one after the other of 24 hours each (or one of some other length): from its first, counted from
    0, which begins with `first`, to before `last`."""

    day: int
    first: int
    last: int
    quarters: int


def by_quarter(bind: Bind, scope: Scope, first: int, last: int) -> dict[int, Count]:
    """Visits in each quarter of an hour from `first` up to, and without, `last`."""
    pageviews: Counter[int] = Counter()
    visitors: Counter[int] = Counter()
    for part in scope.parts:
        table = table_of(part)
        sums = select(table.c.quarter, func.sum(table.c.pageviews), func.sum(table.c.visitors))
        wanted = sums.where(*conditions(part, first, last)).group_by(table.c.quarter)
        for quarter, *counts in bind.execute(wanted):
            pageviews[quarter] += int(counts[0])
            visitors[quarter] += int(counts[1])
    return {number: Count(pageviews[number], visitors[number]) for number in sorted(pageviews)}


def by_day(bind: Bind, scope: Scope, period: Period) -> list[Count]:
    """Visits on each day of the period."""
    counts = [NONE] * len(period.days)
    for part in scope.parts:
        table = table_of(part)
        sums = func.sum(table.c.pageviews), func.sum(table.c.visitors)
        for day, pageviews, visitors in daily(bind, part, period, *sums):
            counts[day] = added([counts[day], Count(int(pageviews), int(visitors))])
    return counts


def of_links(bind: Bind, links: Sequence[int], period: Period) -> dict[int, list[int]]:
    """People's visits of each link on each day of the period."""
    counts = {link_id: [0] * len(period.days) for link_id in links}
    for part in Scope(0, tuple(links)).parts:
        for day, pageviews, link_id in daily(
            bind, part, period, func.sum(LINKS.c.pageviews), groups=(LINKS.c.link_id,)
        ):
            counts[link_id][day] += int(pageviews)
    return counts


def daily(
    bind: Bind, scope: Scope, period: Period, *sums: Any, groups: Sequence[ColumnElement[Any]] = ()
) -> Iterator[Any]:
    """Rows of a day's number, its sums, and what they are grouped by; in one statement, save for decades."""
    parts: list[Select[Any]] = []
    for run in runs(period):
        day = (table_of(scope).c.quarter - run.first) // run.quarters
        found = select((literal(run.day) + day).label("day"), *sums, *groups)
        parts.append(found.where(*conditions(scope, run.first, run.last)).group_by(day, *groups))
    for start in range(0, len(parts), MOST_RUNS):
        yield from bind.execute(union_all(*parts[start : start + MOST_RUNS]))


def runs(period: Period) -> Iterator[Run]:
    """The days of the period, apart where clocks are changed."""
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
        OWNERS.c.user_id == scope.user_id if scope.link_ids is None else LINKS.c.link_id.in_(scope.link_ids)
    )
    return [whose, table.c.is_bot.is_(scope.is_bot), table.c.quarter >= first, table.c.quarter < last]


def table_of(scope: Scope) -> Table:
    return OWNERS if scope.link_ids is None else LINKS
