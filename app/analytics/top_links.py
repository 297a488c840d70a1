"""Top links: the links with most clicks in a period.

Links are counted in the order of their upper bounds (see `day_lists`), until no other link can have more
clicks. Without bounds all links are summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, select

from app.analytics import day_lists, day_state, raw_queries, totals
from app.analytics.periods import QUARTER_MS
from app.analytics.query import StatisticsQuery, covered_after
from app.analytics.scope import Bind, Scope, VisitCounts
from app.links.models import Link

MIN_BATCH_SIZE = 20  # links that are counted


def by_link(bind: Bind, asked: StatisticsQuery) -> list[tuple[int, VisitCounts]]:
    """The links with most clicks by id, in descending order, at most `asked.limit` of them.

    (Clicks on deleted links are in the owner's totals, but such links are in no list.)
    """
    if asked.link_ids is None and not asked.filters:
        found = by_bounds(bind, asked)
        if found is not None:
            return found
    return in_order(
        (id_, VisitCounts(int(pageviews), int(visitors)))
        for part in asked.scope.parts
        for id_, pageviews, visitors in bind.execute(most_visited(bind, part, asked))
    )[: asked.limit]


def in_order(found: Iterable[tuple[int, VisitCounts]]) -> list[tuple[int, VisitCounts]]:
    return sorted(found, key=lambda one: (-one[1].pageviews, -one[1].visitors, one[0]))


def by_bounds(bind: Bind, asked: StatisticsQuery) -> list[tuple[int, VisitCounts]] | None:
    """The top links among all links, counted in the order of their bounds; None if bounds are not enough."""
    bounds = day_lists.find_bounds(bind, asked.scope, asked.period.first, asked.period.last)
    if bounds is None:
        return None
    found: list[tuple[int, VisitCounts]] = []
    start, at_once = 0, max(asked.limit, MIN_BATCH_SIZE)
    while some := bounds.links[start : start + at_once]:
        if is_enough(found, asked.limit, some[0][1]):
            return found[: asked.limit]
        found = in_order([*found, *counts_of(bind, asked, [link_id for link_id, _ in some])])
        # links with similar counts take many steps: doubling the batch keeps these few
        start, at_once = start + at_once, 2 * at_once
    return found[: asked.limit] if not bounds.others or is_enough(found, asked.limit, bounds.others) else None


def is_enough(found: Sequence[tuple[int, VisitCounts]], limit: int, most: int) -> bool:
    """Whether a link with at most `most` clicks can't be among the top links any more."""
    return len(found) >= limit and found[limit - 1][1].pageviews > most


def counts_of(bind: Bind, asked: StatisticsQuery, ids: Sequence[int]) -> Iterator[tuple[int, VisitCounts]]:
    """Counts of these links, as far as they still exist."""
    there = select(Link.id).where(Link.workspace_id == asked.workspace_id, Link.id.in_(ids))
    scope = replace(asked.scope, link_ids=tuple(bind.scalars(there)))
    for id_, pageviews, visitors in bind.execute(of_sums(scope, asked)):
        yield id_, VisitCounts(int(pageviews), int(visitors))


def most_visited(bind: Bind, scope: Scope, asked: StatisticsQuery) -> Select[Any]:
    counted = of_visits(bind, scope, asked) if scope.filters else of_sums(scope, asked)
    return counted.order_by(*(column.desc() for column in [*counted.selected_columns][1:])).limit(asked.limit)


def of_sums(scope: Scope, asked: StatisticsQuery) -> Select[Any]:
    table = totals.LINKS
    within = [table.c.quarter >= asked.period.first, table.c.quarter < asked.period.last]
    counts = func.sum(table.c.pageviews).label("pageviews"), func.sum(table.c.visitors).label("visitors")
    wanted = [whose(scope, table.c.link_id), table.c.is_bot.is_(scope.is_bot), *within]
    return select(table.c.link_id, *counts).where(*wanted).group_by(table.c.link_id)


def of_visits(bind: Bind, scope: Scope, asked: StatisticsQuery) -> Select[Any]:
    """Counts links by rows of single clicks, which filters need: for the days that have all their rows."""
    period = asked.period
    pruned = (
        day_state.last_pruned(bind, asked.workspace_id, period.first, period.last) if asked.filters else None
    )
    first, last = covered_after(pruned, asked)[0], period.last
    wanted = [*raw_queries.conditions(bind, scope, first, last), whose(scope, raw_queries.CLICKS.c.link_id)]
    each = raw_queries.visitors_of(scope, wanted, [], first, each_link=True).subquery()
    is_new = and_(each.c.visitor.is_not(None), each.c.first >= first * QUARTER_MS)
    counts = (
        func.sum(each.c.visits).label("pageviews"),
        func.sum(case((is_new, 1), else_=0)).label("visitors"),
    )
    return select(each.c.link_id, *counts).where(each.c.visits > 0).group_by(each.c.link_id)


def whose(scope: Scope, link_id: ColumnElement[int]) -> ColumnElement[bool]:
    if scope.link_ids is not None:
        return link_id.in_(scope.link_ids)
    return link_id.in_(select(Link.id).where(Link.workspace_id == scope.workspace_id))
