"""Breakdowns: clicks and visitors for each value of one dimension.

Counts come from the roll-ups of days that have some, and from the rows of single clicks for all others:
today, the parts of UTC days at the edges of another time zone's days, and a link's days with few clicks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Table, func, select

from app.analytics import day_state, raw_queries
from app.analytics.day_state import Day, Stretch, merge_days
from app.analytics.dimensions import DIMENSIONS
from app.analytics.interning import numbers_of, texts_of
from app.analytics.periods import QUARTERS
from app.analytics.rollup_models import LinkValue, OwnerValue
from app.analytics.scope import BATCH_SIZE, NONE, Bind, Scope, VisitCounts, add_counts

LINKS = cast("Table", LinkValue.__table__)
OWNERS = cast("Table", OwnerValue.__table__)

Key = tuple[int, ...]
Shares = dict[Key, VisitCounts]


def by_value(bind: Bind, scope: Scope, name: str, first: int, last: int) -> Shares:
    """Clicks of each value between two quarters of an hour, keyed by the ids of its texts (0 for none)."""
    found: Shares = {}
    if [*scope.filters] == [name]:
        counts = add_counts(of_filter(bind, scope, first, last).values())
        key = value_key(bind, name, scope.filters[name])
        return {key: counts} if key and counts.pageviews else {}
    if scope.filters:  # no roll-up holds combinations of values
        for part in scope.parts:
            count_clicks(found, bind, part, name, first, last)
        return found
    days = split_days(day_state.days_of(bind, scope.workspace_id, first, last), first, last)
    for part in scope.parts:
        collect_rolled(found, bind, part, name, {*days.rolled, *days.alone})
        for each, missing in without_roll_ups(bind, part, name, days.rolled):
            for stretch in (*merge_days({*days.rows, *missing}, first, last), *whole(days.leaving)):
                count_clicks(found, bind, each, name, *stretch)
    return found


def of_filter(bind: Bind, scope: Scope, first: int, last: int) -> dict[int, VisitCounts]:
    """Clicks by quarter of an hour, with the scope's only filter. Those of a pruned day are at its noon.

    So are those of rolled up days of all links, where the period has many clicks.
    """
    found: dict[int, VisitCounts] = {}
    there = day_state.days_of(bind, scope.workspace_id, first, last)
    days = split_days(there, first, last)
    clicks = sum(day.visits for day in there if day.day in days.rolled)
    if scope.link_ids is None and clicks > day_state.MOST_FILTERED:
        days = Days(set(), days.rolled | days.alone, days.leaving, days.rows)
    for part in scope.parts:
        for stretch in merge_days({*days.rolled, *days.rows}, first, last):
            add_quarters(found, raw_queries.by_quarter(bind, part, *stretch))
        for day in days.leaving:
            counts = raw_queries.by_quarter(bind, part, day * QUARTERS, (day + 1) * QUARTERS)
            add_quarters(found, {day_state.noon(day): add_counts(counts.values())})
        add_quarters(found, rolled_by_day(bind, part, days.alone))
    return found


def add_quarters(found: dict[int, VisitCounts], counts: Mapping[int, VisitCounts]) -> None:
    for quarter, count in counts.items():
        found[quarter] = add_counts([found.get(quarter, NONE), count])


def rolled_by_day(bind: Bind, scope: Scope, days: set[int]) -> dict[int, VisitCounts]:
    """Clicks with the scope's only filter on these days, from the roll-ups, at the noon of each day."""
    [(name, value)] = scope.filters.items()
    key = value_key(bind, name, value)
    if key is None:
        return {}
    table = OWNERS if scope.link_ids is None else LINKS
    is_value = [column == id_ for column, id_ in zip((table.c.value_id, table.c.path_id), key, strict=False)]
    sums = func.sum(table.c.pageviews), func.sum(table.c.visitors)
    found: dict[int, VisitCounts] = {}
    ordered = sorted(days)
    for start in range(0, len(ordered), BATCH_SIZE):
        some = conditions(table, scope, name, ordered[start : start + BATCH_SIZE])
        wanted = select(table.c.day, *sums).where(*some, *is_value).group_by(table.c.day)
        for day, pageviews, visitors in bind.execute(wanted):
            found[day_state.noon(day)] = VisitCounts(int(pageviews), int(visitors))
    return found


def value_key(bind: Bind, name: str, value: str | None) -> Key | None:
    """The ids of a value's texts; None where no click has such a text."""
    if value is None:
        return (raw_queries.NO_VALUE,) * len(DIMENSIONS[name].columns)
    texts = raw_queries.texts_of_value(name, value)
    ids = numbers_of(bind, texts)
    return tuple(ids[text] for text in texts) if len(ids) == len(set(texts)) else None


def count_clicks(found: Shares, bind: Bind, scope: Scope, name: str, first: int, last: int) -> None:
    """Adds the counts from the rows of single clicks."""
    for counted in raw_queries.select_values(bind, scope, name, first, last):
        collect_counts(found, bind.execute(counted))


class Days(NamedTuple):
    """Days of a period by where their counts come from.

    `rolled`: from roll-ups, rows exist too. `alone`: from roll-ups, the rows are removed. `leaving`: those of
    `alone` with additional rows that no roll-up includes. `rows`: from rows.
    """

    rolled: set[int]
    alone: set[int]
    leaving: set[int]
    rows: set[int]


def split_days(days: Iterable[Day], first: int, last: int) -> Days:
    """Sorts days by where their counts come from.

    A pruned day can't be divided: it counts fully if its noon is within the period, else not at all. The same
    holds for its late rows, and for rows that are still being removed.
    """
    found = Days(set(), set(), set(), set())
    for day in days:
        if day.is_pruned:
            if day_state.is_mostly(day.day, first, last):
                found.alone.add(day.day)
                if day.visits:
                    found.leaving.add(day.day)
        elif day.rolled == day.visits and day_state.is_whole(day.day, first, last):
            found.rolled.add(day.day)
        else:
            found.rows.add(day.day)
    return found


def whole(days: set[int]) -> Iterator[Stretch]:
    """Each day as a stretch, from its beginning to its end."""
    for day in days:
        yield Stretch(day * QUARTERS, (day + 1) * QUARTERS)


def without_roll_ups(
    bind: Bind, scope: Scope, name: str, rolled: set[int]
) -> Iterator[tuple[Scope, set[int]]]:
    """Scopes, each with the rolled days that it has no roll-up for: links with few clicks have none."""
    if scope.link_ids is None or not rolled:
        yield scope, set()
        return
    present: dict[int, set[int]] = {}
    key = LINKS.c.link_id, LINKS.c.day
    wanted = select(*key).where(*conditions(LINKS, scope, name, rolled)).distinct()
    for link_id, day in bind.execute(wanted):
        present.setdefault(link_id, set()).add(day)
    small = tuple(link_id for link_id in scope.link_ids if link_id not in present)
    if small:
        yield replace(scope, link_ids=small), rolled
    for link_id, days in present.items():
        yield replace(scope, link_ids=(link_id,)), rolled - days


def collect_rolled(found: Shares, bind: Bind, scope: Scope, name: str, days: set[int]) -> None:
    table = OWNERS if scope.link_ids is None else LINKS
    keys = [table.c.value_id, table.c.path_id][: len(DIMENSIONS[name].columns)]
    sums = func.sum(table.c.pageviews), func.sum(table.c.visitors)
    ordered = sorted(days)
    for start in range(0, len(ordered), BATCH_SIZE):
        some = conditions(table, scope, name, ordered[start : start + BATCH_SIZE])
        collect_counts(found, bind.execute(select(*keys, *sums).where(*some).group_by(*keys)))


def conditions(table: Table, scope: Scope, name: str, days: Iterable[int]) -> list[ColumnElement[bool]]:
    whose = (
        table.c.link_id.in_(scope.link_ids)
        if scope.link_ids is not None
        else table.c.workspace_id == scope.workspace_id
    )
    of_kind = table.c.dimension == DIMENSIONS[name].number, table.c.is_bot.is_(scope.is_bot)
    return [whose, *of_kind, table.c.day.in_(days)]


def collect_counts(found: Shares, rows: Iterable[Any]) -> None:
    for row in rows:
        key = tuple(row[:-2])
        found[key] = add_counts([found.get(key, NONE), VisitCounts(int(row[-2]), int(row[-1]))])


def rank_values(bind: Bind, found: Shares, limit: int) -> list[tuple[str | None, VisitCounts]]:
    """The values with most clicks, as texts; ties by visitors, then by name, unknown last."""
    least = sorted(found.values(), reverse=True)[limit - 1 : limit]
    most = {key: count for key, count in found.items() if not least or count >= least[0]}
    texts = texts_of(bind, {id_ for key in most for id_ in key})
    named = [("".join(texts.get(id_, "") for id_ in key) or None, count) for key, count in most.items()]
    named.sort(key=lambda pair: (-pair[1].pageviews, -pair[1].visitors, pair[0] is None, pair[0] or ""))
    return named[:limit]
