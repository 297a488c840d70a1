"""How many visits had each value of a dimension?

Taken from the roll-ups of the days that have some, and from the rows of single visits for all others: today,
the parts of UTC days that another time zone's days begin and end with, and a link's days of few visits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Table, func, select

from app.clicks import ledger, raw
from app.clicks.dimensions import DIMENSIONS
from app.clicks.ledger import Day, Stretch, stretches
from app.clicks.periods import QUARTERS
from app.clicks.rollup_models import LinkValue, OwnerValue
from app.clicks.scope import AT_ONCE, NONE, Bind, Count, Scope, added
from app.clicks.words import texts_of

LINKS = cast("Table", LinkValue.__table__)
OWNERS = cast("Table", OwnerValue.__table__)

Key = tuple[int, ...]
Shares = dict[Key, Count]


def by_value(bind: Bind, scope: Scope, name: str, first: int, last: int) -> Shares:
    """Visits of each value between two quarters of an hour, by the numbers of its texts (0 for none)."""
    found: Shares = {}
    if scope.filters:  # which values came together is in no roll-up
        for part in scope.parts:
            count(found, bind, part, name, first, last)
        return found
    days = parted(ledger.days_of(bind, scope.user_id, first, last), first, last)
    for part in scope.parts:
        collect_rolled(found, bind, part, name, {*days.rolled, *days.alone})
        for each, missing in without_roll_ups(bind, part, name, days.rolled):
            for stretch in (*stretches({*days.rows, *missing}, first, last), *whole(days.leaving)):
                count(found, bind, each, name, *stretch)
    return found


def count(found: Shares, bind: Bind, scope: Scope, name: str, first: int, last: int) -> None:
    """Add what the rows of single visits say."""
    for counted in raw.values(bind, scope, name, first, last):
        collect(found, bind.execute(counted))


class Days(NamedTuple):
    """The days that are rolled up; those that are nothing else any more, and those of them of which there
    are rows as well that are in no roll-up; and those whose rows must be read."""

    rolled: set[int]
    alone: set[int]
    leaving: set[int]
    rows: set[int]


def parted(days: Iterable[Day], first: int, last: int) -> Days:
    """A part of a day that is nothing but rolled up can't be told from the rest: its noon decides, of its
    late rows too, and of those that are being removed."""
    found = Days(set(), set(), set(), set())
    for day in days:
        if day.is_pruned:
            if ledger.is_mostly(day.day, first, last):
                found.alone.add(day.day)
                if day.visits:
                    found.leaving.add(day.day)
        elif day.rolled == day.visits and ledger.is_whole(day.day, first, last):
            found.rolled.add(day.day)
        else:
            found.rows.add(day.day)
    return found


def whole(days: set[int]) -> Iterator[Stretch]:
    """Days, from their beginning to their end."""
    for day in days:
        yield Stretch(day * QUARTERS, (day + 1) * QUARTERS)


def without_roll_ups(
    bind: Bind, scope: Scope, name: str, rolled: set[int]
) -> Iterator[tuple[Scope, set[int]]]:
    """Scopes, each with the rolled days of which it has no roll-up: a link's with few visits have none."""
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
    for start in range(0, len(ordered), AT_ONCE):
        some = conditions(table, scope, name, ordered[start : start + AT_ONCE])
        collect(found, bind.execute(select(*keys, *sums).where(*some).group_by(*keys)))


def conditions(table: Table, scope: Scope, name: str, days: Iterable[int]) -> list[ColumnElement[bool]]:
    whose = (
        table.c.link_id.in_(scope.link_ids)
        if scope.link_ids is not None
        else table.c.user_id == scope.user_id
    )
    of_kind = table.c.dimension == DIMENSIONS[name].number, table.c.is_bot.is_(scope.is_bot)
    return [whose, *of_kind, table.c.day.in_(days)]


def collect(found: Shares, rows: Iterable[Any]) -> None:
    for row in rows:
        key = tuple(row[:-2])
        found[key] = added([found.get(key, NONE), Count(int(row[-2]), int(row[-1]))])


def ranked(bind: Bind, found: Shares, limit: int) -> list[tuple[str | None, Count]]:
    """The most visited values in words; of equals the ones with more visitors, then by name, unknown last."""
    least = sorted(found.values(), reverse=True)[limit - 1 : limit]
    most = {key: count for key, count in found.items() if not least or count >= least[0]}
    texts = texts_of(bind, {id_ for key in most for id_ in key})
    named = [("".join(texts.get(id_, "") for id_ in key) or None, count) for key, count in most.items()]
    named.sort(key=lambda pair: (-pair[1].pageviews, -pair[1].visitors, pair[0] is None, pair[0] or ""))
    return named[:limit]
