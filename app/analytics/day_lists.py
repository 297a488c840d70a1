"""Day lists: upper bounds of the clicks of each of an owner's links.

For each past day the list stores the links with most clicks, and how many any other link had at most. That is
little to read, and finding the top links needs no sum over all links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Select, Table, delete, func, select, union_all, update
from sqlalchemy.engine import Connection

from app.analytics import bulk, day_state
from app.analytics.day_state import Day
from app.analytics.periods import QUARTER_MS
from app.analytics.raw_queries import CLICKS
from app.analytics.rollup_models import OTHERS, OwnerLink
from app.analytics.scope import BATCH_SIZE, Bind, Scope

LISTS = cast("Table", OwnerLink.__table__)
LISTED = 1000  # links of a day, for humans and for bots each
LOOKED_AT = 2000  # candidates for the top links
MAX_ROWS = 500_000  # rows of single clicks that are counted instead, for days without a list
Visited = Counter[tuple[bool, int]]  # clicks by (is_bot, link_id)


class Bounds(NamedTuple):
    """`links`: ids of links, each with the most clicks that it can have, in descending order.

    No link that is not among them has more than `others`.
    """

    links: list[tuple[int, int]]
    others: int


def rows_of(workspace_id: int, day: int, visited: Visited) -> list[tuple[Any, ...]]:
    """The list of a day, from all of its clicks."""
    rows: list[tuple[Any, ...]] = []
    for of_bots in (False, True):
        counts = {link_id: count for (is_bot, link_id), count in visited.items() if is_bot is of_bots}
        most = nlargest(LISTED, counts.items(), key=lambda one: one[1])
        others = most[-1][1] if len(most) < len(counts) else 0
        rows += [(workspace_id, of_bots, day, *one) for one in [(OTHERS, others), *most]]
    return rows


def store_list(connection: Connection, workspace_id: int, day: int, visited: Visited) -> None:
    """Stores a day's list, in place of the earlier one."""
    connection.execute(delete(LISTS).where(*of_day(workspace_id, day)))
    bulk.insert_rows(connection, LISTS, rows_of(workspace_id, day, visited), "DO NOTHING")


def raise_bounds(connection: Connection, workspace_id: int, day: int, visits: int) -> None:
    """Raises all bounds of a day by late clicks, when its rows are removed: any link may have had them."""
    changed = update(LISTS).where(*of_day(workspace_id, day))
    connection.execute(changed.values(at_most=LISTS.c.at_most + visits))


def of_day(workspace_id: int, day: int) -> tuple[ColumnElement[bool], ...]:
    """Conditions of a day's list, humans and bots: the key begins with these columns."""
    return LISTS.c.workspace_id == workspace_id, LISTS.c.is_bot.in_((False, True)), LISTS.c.day == day


def find_bounds(bind: Bind, scope: Scope, first: int, last: int) -> Bounds | None:
    """The bounds of all the owner's links between two quarters of an hour.

    None if lists are missing, or if too many rows of single clicks would have to be counted.
    """
    days = day_state.days_of(bind, scope.workspace_id, first, last)
    loose = [day for day in days if day.visits and (day.is_pruned or day.rolled != day.visits)]
    listed = [day.day for day in days if day.is_pruned or day.rolled == day.visits]
    if len(listed) > BATCH_SIZE or sum(day.visits for day in loose) > MAX_ROWS:
        return None
    mine = (
        LISTS.c.workspace_id == scope.workspace_id,
        LISTS.c.is_bot.is_(scope.is_bot),
        LISTS.c.day.in_(listed),
    )
    rest = select(LISTS.c.day, LISTS.c.at_most).where(*mine, LISTS.c.link_id == OTHERS)
    known = bind.execute(rest).all()
    if len(known) < len(listed):
        return None
    each = rest.subquery()
    more = select(LISTS.c.link_id, LISTS.c.at_most - each.c.at_most).join(each, each.c.day == LISTS.c.day)
    named = union_all(
        more.where(*mine, LISTS.c.link_id != OTHERS), *select_counts(scope, loose, first, last)
    ).subquery()
    link_id, count = named.c
    most = func.sum(count).label("most")
    found = select(link_id, most).group_by(link_id).order_by(most.desc(), link_id)
    others = sum(row[1] for row in known)
    links = [(row[0], others + int(row[1])) for row in bind.execute(found.limit(LOOKED_AT))]
    return Bounds(links, links[-1][1] if len(links) == LOOKED_AT else others)


def select_counts(scope: Scope, days: Sequence[Day], first: int, last: int) -> Iterator[Select[Any]]:
    for stretch in day_state.merge_days([day.day for day in days], first, last):
        inside = CLICKS.c.time_ms >= stretch.first * QUARTER_MS, CLICKS.c.time_ms < stretch.last * QUARTER_MS
        mine = CLICKS.c.workspace_id == scope.workspace_id, CLICKS.c.is_bot.is_(scope.is_bot)
        yield select(CLICKS.c.link_id, func.count()).where(*mine, *inside).group_by(CLICKS.c.link_id)
