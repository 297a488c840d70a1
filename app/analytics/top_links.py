"""Which links were visited most?

Of all that an owner has, those come first that can have been visited most, and it ends as soon as no other
can have been visited more. Where that is not known, all are added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, select

from app.clicks import day_lists, raw, sums
from app.clicks.periods import QUARTER_MS
from app.clicks.scope import Bind, Count, Scope
from app.clicks.statistics import Asked, covered
from app.links.models import Link

LEAST_AT_ONCE = 20  # links that are counted


def by_link(bind: Bind, asked: Asked) -> list[tuple[int, Count]]:
    """The links of the question by their ids, most visited first, as many as it wants rows. (Those that were
    deleted are in the owner's sums, and in no list.)"""
    if asked.link_ids is None and not asked.filters:
        found = by_bounds(bind, asked)
        if found is not None:
            return found
    return in_order(
        (id_, Count(int(pageviews), int(visitors)))
        for part in asked.scope.parts
        for id_, pageviews, visitors in bind.execute(most_visited(bind, part, asked))
    )[: asked.limit]


def in_order(found: Iterable[tuple[int, Count]]) -> list[tuple[int, Count]]:
    return sorted(found, key=lambda one: (-one[1].pageviews, -one[1].visitors, one[0]))


def by_bounds(bind: Bind, asked: Asked) -> list[tuple[int, Count]] | None:
    """The same of all links, those first that were visited most at most; None where that tells too little."""
    bounds = day_lists.bounds(bind, asked.scope, asked.period.first, asked.period.last)
    if bounds is None:
        return None
    found: list[tuple[int, Count]] = []
    start, at_once = 0, max(asked.limit, LEAST_AT_ONCE)
    while some := bounds.links[start : start + at_once]:
        if is_enough(found, asked.limit, some[0][1]):
            return found[: asked.limit]
        found = in_order([*found, *counts_of(bind, asked, [link_id for link_id, _ in some])])
        # where links are much alike, it takes many: then a few questions, not a hundred
        start, at_once = start + at_once, 2 * at_once
    return found[: asked.limit] if not bounds.others or is_enough(found, asked.limit, bounds.others) else None


def is_enough(found: Sequence[tuple[int, Count]], limit: int, most: int) -> bool:
    """Whether one with so many visits at most can't be among the first any more."""
    return len(found) >= limit and found[limit - 1][1].pageviews > most


def counts_of(bind: Bind, asked: Asked, ids: Sequence[int]) -> Iterator[tuple[int, Count]]:
    """Of these links, as far as they are there still."""
    there = select(Link.id).where(Link.user_id == asked.user_id, Link.id.in_(ids))
    scope = replace(asked.scope, link_ids=tuple(bind.scalars(there)))
    for id_, pageviews, visitors in bind.execute(of_sums(scope, asked)):
        yield id_, Count(int(pageviews), int(visitors))


def most_visited(bind: Bind, scope: Scope, asked: Asked) -> Select[Any]:
    counted = of_visits(bind, scope, asked) if scope.filters else of_sums(scope, asked)
    return counted.order_by(*(column.desc() for column in [*counted.selected_columns][1:])).limit(asked.limit)


def of_sums(scope: Scope, asked: Asked) -> Select[Any]:
    table = sums.LINKS
    within = [table.c.quarter >= asked.period.first, table.c.quarter < asked.period.last]
    counts = func.sum(table.c.pageviews).label("pageviews"), func.sum(table.c.visitors).label("visitors")
    wanted = [whose(scope, table.c.link_id), table.c.is_bot.is_(scope.is_bot), *within]
    return select(table.c.link_id, *counts).where(*wanted).group_by(table.c.link_id)


def of_visits(bind: Bind, scope: Scope, asked: Asked) -> Select[Any]:
    """Filters need the rows of single visits: of the days of which all are there."""
    first, last = covered(bind, asked)[0], asked.period.last
    wanted = [*raw.conditions(bind, scope, first, last), whose(scope, raw.CLICKS.c.link_id)]
    each = raw.visitors_of(scope, wanted, [], first, each_link=True).subquery()
    is_new = and_(each.c.visitor.is_not(None), each.c.first >= first * QUARTER_MS)
    counts = (
        func.sum(each.c.visits).label("pageviews"),
        func.sum(case((is_new, 1), else_=0)).label("visitors"),
    )
    return select(each.c.link_id, *counts).where(each.c.visits > 0).group_by(each.c.link_id)


def whose(scope: Scope, link_id: ColumnElement[int]) -> ColumnElement[bool]:
    if scope.link_ids is not None:
        return link_id.in_(scope.link_ids)
    return link_id.in_(select(Link.id).where(Link.user_id == scope.user_id))
