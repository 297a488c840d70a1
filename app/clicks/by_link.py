"""Which links were visited most?"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, select

from app.clicks import raw, sums
from app.clicks.periods import QUARTER_MS
from app.clicks.scope import Bind, Count, Scope
from app.clicks.statistics import Asked
from app.links.models import Link


def by_link(bind: Bind, asked: Asked) -> list[tuple[int, Count]]:
    """The links of the question by their ids, most visited first, as many as it wants rows. (Those that were
    deleted are in the owner's sums, and in no list.)"""
    found = [
        (id_, Count(int(pageviews), int(visitors)))
        for part in asked.scope.parts
        for id_, pageviews, visitors in bind.execute(most_visited(bind, part, asked))
    ]
    return sorted(found, key=lambda one: (-one[1].pageviews, -one[1].visitors, one[0]))[: asked.limit]


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
    """Filters need the rows of single visits."""
    first, last = asked.period.first, asked.period.last
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
