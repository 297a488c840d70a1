"""How many visits can a link have had at most, of all that an owner has?

Of each day that is over, the links with most visits are noted, and how many any other link had at most. That
is little to read, and whoever looks for the most visited links need not add all of them up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Select, Table, delete, func, select, union_all, update
from sqlalchemy.engine import Connection

from app.clicks import bulk, ledger
from app.clicks.ledger import Day
from app.clicks.periods import QUARTER_MS
from app.clicks.raw import CLICKS
from app.clicks.rollup_models import OTHERS, OwnerLink
from app.clicks.scope import AT_ONCE, Bind, Scope

LISTS = cast("Table", OwnerLink.__table__)
LISTED = 1000  # links of a day, of people and of bots
LOOKED_AT = 2000  # links that may have most
MOST_ROWS = 500_000  # of single visits that are counted instead, for days without a list

Visited = Counter[tuple[bool, int]]  # visits by whether a bot's, and the link


class Bounds(NamedTuple):
    """`links`: ids of links, each with how many visits it had at most, the most first. No link that is not
    among them had more than `others`."""

    links: list[tuple[int, int]]
    others: int


def rows_of(user_id: int, day: int, visited: Visited) -> list[tuple[Any, ...]]:
    """The list of a day, from all of its visits."""
    rows: list[tuple[Any, ...]] = []
    for of_bots in (False, True):
        counts = {link_id: count for (is_bot, link_id), count in visited.items() if is_bot is of_bots}
        most = nlargest(LISTED, counts.items(), key=lambda one: one[1])
        others = most[-1][1] if len(most) < len(counts) else 0
        rows += [(user_id, of_bots, day, *one) for one in [(OTHERS, others), *most]]
    return rows


def keep(connection: Connection, user_id: int, day: int, visited: Visited) -> None:
    """Note a day's list, in place of the one before."""
    connection.execute(delete(LISTS).where(*of_day(user_id, day)))
    bulk.put(connection, LISTS, rows_of(user_id, day, visited), "DO NOTHING")


def add(connection: Connection, user_id: int, day: int, visits: int) -> None:
    """So many visits came late to a day whose single visits are gone: any link may have had them."""
    changed = update(LISTS).where(*of_day(user_id, day))
    connection.execute(changed.values(at_most=LISTS.c.at_most + visits))


def of_day(user_id: int, day: int) -> tuple[ColumnElement[bool], ...]:
    """Of people and of bots: the key begins with these."""
    return LISTS.c.user_id == user_id, LISTS.c.is_bot.in_((False, True)), LISTS.c.day == day


def bounds(bind: Bind, scope: Scope, first: int, last: int) -> Bounds | None:
    """Between two quarters of an hour, of all the owner's links. None where lists are missing, or where too
    many single visits would have to be counted."""
    days = ledger.days_of(bind, scope.user_id, first, last)
    loose = [day for day in days if day.visits and (day.is_pruned or day.rolled != day.visits)]
    listed = [day.day for day in days if day.is_pruned or day.rolled == day.visits]
    if len(listed) > AT_ONCE or sum(day.visits for day in loose) > MOST_ROWS:
        return None
    mine = LISTS.c.user_id == scope.user_id, LISTS.c.is_bot.is_(scope.is_bot), LISTS.c.day.in_(listed)
    rest = select(LISTS.c.day, LISTS.c.at_most).where(*mine, LISTS.c.link_id == OTHERS)
    known = bind.execute(rest).all()
    if len(known) < len(listed):
        return None
    each = rest.subquery()
    more = select(LISTS.c.link_id, LISTS.c.at_most - each.c.at_most).join(each, each.c.day == LISTS.c.day)
    named = union_all(
        more.where(*mine, LISTS.c.link_id != OTHERS), *counted(scope, loose, first, last)
    ).subquery()
    link_id, count = named.c
    most = func.sum(count).label("most")
    found = select(link_id, most).group_by(link_id).order_by(most.desc(), link_id)
    others = sum(row[1] for row in known)
    links = [(row[0], others + int(row[1])) for row in bind.execute(found.limit(LOOKED_AT))]
    return Bounds(links, links[-1][1] if len(links) == LOOKED_AT else others)


def counted(scope: Scope, days: Sequence[Day], first: int, last: int) -> Iterator[Select[Any]]:
    for stretch in ledger.stretches([day.day for day in days], first, last):
        inside = CLICKS.c.time_ms >= stretch.first * QUARTER_MS, CLICKS.c.time_ms < stretch.last * QUARTER_MS
        mine = CLICKS.c.user_id == scope.user_id, CLICKS.c.is_bot.is_(scope.is_bot)
        yield select(CLICKS.c.link_id, func.count()).where(*mine, *inside).group_by(CLICKS.c.link_id)
