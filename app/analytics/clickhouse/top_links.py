"""Top links in ClickHouse: the existing links with most clicks in a period."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select

from app.analytics.click_reader import Counts
from app.analytics.clickhouse.conditions import of_bots, of_owner
from app.analytics.clickhouse.counting import Counting
from app.analytics.query import StatisticsQuery, covered_after
from app.analytics.scope import BATCH_SIZE, Bind, Scope, VisitCounts
from app.links.models import Link

LastPruned = Callable[[int, int, int], int | None]


def top_links(counting: Counting, bind: Bind, asked: StatisticsQuery, last_pruned: LastPruned) -> Counts:
    found: Counts = []
    for scope in asked.scope.parts:
        if scope.filters:
            period = asked.period
            first = covered_after(last_pruned(asked.workspace_id, period.first, period.last), asked)[0]
            rows = counting.raw_groups(scope, "link_id", first, period.last)
            counted = [(row[0], VisitCounts(int(row[1]), int(row[2]))) for row in rows]
            found += existing(bind, scope, in_order(counted), asked.limit)
        else:
            found += of_sums(counting, bind, scope, asked)
    return in_order(found)[: asked.limit]


def in_order(found: Iterable[tuple[int, VisitCounts]]) -> Counts:
    return sorted(found, key=lambda one: (-one[1].pageviews, -one[1].visitors, one[0]))


def of_sums(counting: Counting, bind: Bind, scope: Scope, asked: StatisticsQuery) -> Counts:
    """Clicks of all links by their sums; visitors of those that can be among the first."""
    first, last = asked.period.first, asked.period.last
    clicks = counting.server.query(
        f"SELECT link_id, sum(pageviews) AS n FROM link_quarter WHERE {of_owner(scope)} AND {of_bots(scope)}"
        f" AND quarter >= {first:d} AND quarter < {last:d} GROUP BY link_id ORDER BY n DESC, link_id"
    )
    most = existing(bind, scope, clicks, asked.limit, is_tied=lambda one, other: one[1] == other[1])
    found: Counts = []
    for start in range(0, len(most), BATCH_SIZE):
        some = {link_id: int(count) for link_id, count in most[start : start + BATCH_SIZE]}
        part = replace(scope, link_ids=tuple(some))
        visitors: dict[int, int] = dict(counting.link_visitors(part, first, last))
        found += [(id_, VisitCounts(count, int(visitors.get(id_, 0)))) for id_, count in some.items()]
    return found


def existing(
    bind: Bind,
    scope: Scope,
    ordered: Sequence[tuple[int, Any]],
    limit: int,
    is_tied: Callable[[Any, Any], bool] = lambda _one, _other: False,
) -> list[tuple[int, Any]]:
    """The first `limit` of these links that exist, and those tied with the last of them."""
    found: list[tuple[int, Any]] = []
    for start in range(0, len(ordered), BATCH_SIZE):
        some = ordered[start : start + BATCH_SIZE]
        if scope.link_ids is None:
            mine = Link.workspace_id == scope.workspace_id, Link.id.in_([row[0] for row in some])
            there = set(bind.scalars(select(Link.id).where(*mine)))
        else:
            there = {row[0] for row in some}  # the caller has checked these
        for row in some:
            if row[0] in there:
                if len(found) >= limit and not is_tied(row, found[limit - 1]):
                    return found
                found.append(row)
    return found
