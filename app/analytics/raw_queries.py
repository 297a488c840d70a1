"""Queries that count rows of single clicks, for what no roll-up holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any, cast

from sqlalchemy import (
    Column,
    ColumnElement,
    FromClause,
    Select,
    String,
    Table,
    and_,
    case,
    false,
    func,
    literal,
    select,
)
from sqlalchemy import cast as cast_to

from app.analytics.dimensions import DIMENSIONS
from app.analytics.interning import numbers_of
from app.analytics.models import Click
from app.analytics.periods import DAY_MS, QUARTER_MS, QUARTERS
from app.analytics.rollup_models import Agent
from app.analytics.scope import Bind, Scope, VisitCounts

CLICKS = cast("Table", Click.__table__)
AGENTS = cast("Table", Agent.__table__)
OF_AGENT = frozenset(AGENTS.c.keys()) - {"id"}
NO_VALUE = 0


def by_quarter(bind: Bind, scope: Scope, first: int, last: int) -> dict[int, VisitCounts]:
    """Clicks and visitors in each quarter of an hour from `first` up to, and without, `last`."""
    pageviews: Counter[int] = Counter()
    visitors: Counter[int] = Counter()
    quarter = (CLICKS.c.time_ms // QUARTER_MS).label("quarter")
    for part in scope.parts:
        wanted = conditions(bind, part, first, last)
        inside = CLICKS.c.time_ms >= first * QUARTER_MS
        counted = select(quarter, func.count()).select_from(source(scope.filters)).where(*wanted, inside)
        pageviews.update({row[0]: row[1] for row in bind.execute(counted.group_by(quarter))})
        visitors.update({row[0]: row[1] for row in bind.execute(select_arrivals(part, wanted, first))})
    return {number: VisitCounts(pageviews[number], visitors[number]) for number in sorted(pageviews)}


def by_link(bind: Bind, scope: Scope, first: int, last: int) -> dict[int, int]:
    """The clicks on each link from the quarter of an hour `first` up to, and without, `last`."""
    found: dict[int, int] = {}
    for part in scope.parts:
        wanted = [*conditions(bind, part, first, last), CLICKS.c.time_ms >= first * QUARTER_MS]
        counted = select(CLICKS.c.link_id, func.count()).select_from(source(scope.filters)).where(*wanted)
        found.update(bind.execute(counted.group_by(CLICKS.c.link_id)).all())
    return found


def select_arrivals(scope: Scope, wanted: Sequence[ColumnElement[bool]], first: int) -> Select[Any]:
    """Counts visitors by the quarter of an hour of their first click of the day."""
    known = [*wanted, CLICKS.c.visitor.is_not(None)]
    firsts = visitors_of(scope, known, [], first, each_link=scope.link_ids is not None).subquery()
    quarter = (firsts.c.first // QUARTER_MS).label("quarter")
    return select(quarter, func.count()).where(firsts.c.first >= first * QUARTER_MS).group_by(quarter)


def select_values(bind: Bind, scope: Scope, name: str, first: int, last: int) -> Iterator[Select[Any]]:
    """Queries for a dimension's values (each column, 0 for none) and their two counts; to be added up."""
    whole = -(-first // QUARTERS) * QUARTERS  # where the first UTC day begins that is not cut at its start
    if first < whole:
        yield values_within(bind, scope, name, first, min(whole, last))
    if whole < last:
        yield values_of_days(bind, scope, name, whole, last)


def values_of_days(bind: Bind, scope: Scope, name: str, first: int, last: int) -> Select[Any]:
    """Values from the beginning of a UTC day on: each visitor's first click of the day is within."""
    keys = value_of(name)
    day = CLICKS.c.time_ms // DAY_MS
    apart = [day, *([CLICKS.c.link_id] if scope.link_ids is not None else [])]
    who = reduce(add, (literal("/") + cast_to(each, String) for each in apart), CLICKS.c.visitor)
    counts = func.count(), func.count(who.distinct())
    found = select(*keys, *counts).select_from(source([*scope.filters, name]))
    return found.where(*conditions(bind, scope, first, last)).group_by(*keys)


def values_within(bind: Bind, scope: Scope, name: str, first: int, last: int) -> Select[Any]:
    """Values from the middle of a UTC day on, which may be after a visitor's first click of the day."""
    labelled, by_link = value_of(name), scope.link_ids is not None
    wanted = conditions(bind, scope, first, last)
    each = visitors_of(scope, wanted, labelled, first, each_link=by_link, dimension=name).subquery()
    keys = [each.c[one.key] for one in labelled]
    is_new = and_(each.c.visitor.is_not(None), each.c.first >= first * QUARTER_MS)
    counts = func.sum(each.c.visits), func.sum(case((is_new, 1), else_=0))
    return select(*keys, *counts).where(each.c.visits > 0).group_by(*keys)


def value_of(name: str) -> list[Any]:
    return [func.coalesce(column(one), NO_VALUE).label(one) for one in DIMENSIONS[name].columns]


def visitors_of(
    scope: Scope,
    wanted: Sequence[ColumnElement[bool]],
    labelled: Sequence[Any],
    first: int,
    *,
    each_link: bool,
    dimension: str | None = None,
) -> Select[Any]:
    """A row for each visitor of a UTC day: the time of their first click, and their clicks in the period."""
    day = CLICKS.c.time_ms // DAY_MS
    apart = [*labelled, *([CLICKS.c.link_id] if each_link else [])]
    visits = func.sum(case((CLICKS.c.time_ms >= first * QUARTER_MS, 1), else_=0)).label("visits")
    came = func.min(CLICKS.c.time_ms).label("first")
    found = select(*apart, CLICKS.c.visitor, came, visits).select_from(
        source([*scope.filters, *([dimension] if dimension else [])])
    )
    return found.where(*wanted).group_by(day, CLICKS.c.visitor, *apart)


def conditions(bind: Bind, scope: Scope, first: int, last: int) -> list[ColumnElement[bool]]:
    """Conditions of the rows asked for, from the beginning of the UTC day in which the period begins."""
    day_begin = first * QUARTER_MS // DAY_MS * DAY_MS
    found = [CLICKS.c.time_ms >= day_begin, CLICKS.c.time_ms < last * QUARTER_MS]
    # only one of the two: with both, a database may read all rows of the owner
    found.append(
        CLICKS.c.workspace_id == scope.workspace_id
        if scope.link_ids is None
        else CLICKS.c.link_id.in_(scope.link_ids)
    )
    if scope.is_bot is not None:
        found.append(CLICKS.c.is_bot.is_(scope.is_bot))
    return [*found, *(filter_by(bind, name, value) for name, value in scope.filters.items())]


def filter_by(bind: Bind, name: str, value: str | None) -> ColumnElement[bool]:
    """The condition that a row has this value of a dimension."""
    first, *more = (column(each) for each in DIMENSIONS[name].columns)
    if value is None:
        return first.is_(None)
    texts = texts_of_value(name, value)
    ids = numbers_of(bind, texts)
    if len(ids) < len(texts):
        return false()
    return and_(*(each == ids[text] for each, text in zip((first, *more), texts, strict=True)))


def column(name: str) -> Column[Any]:
    return AGENTS.c[name] if name in OF_AGENT else CLICKS.c[name]


def source(names: Sequence[str] | Any) -> FromClause:
    """The clicks, joined with their user agents where one of these dimensions needs it."""
    if OF_AGENT.isdisjoint(each for name in names for each in DIMENSIONS[name].columns):
        return CLICKS
    return CLICKS.outerjoin(AGENTS, AGENTS.c.id == CLICKS.c.agent_id)


def texts_of_value(name: str, value: str) -> tuple[str, ...]:
    """The texts that make up a value: one for each column of its dimension."""
    return split_path(value) if len(DIMENSIONS[name].columns) > 1 else (value,)


def split_path(value: str) -> tuple[str, str]:
    """Splits `news.example/story` into host and path."""
    host, slash, rest = value.partition("/")
    return host, slash + rest
