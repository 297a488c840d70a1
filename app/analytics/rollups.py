"""Adds clicks to the sums by quarters of an hour, each exactly once and in any order.

A visitor counts in the quarter of an hour of their first click of the day. If an earlier click is ingested
later (two processes write two journals), the visitor moves to its quarter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.analytics import bulk
from app.analytics.periods import QUARTER_MS, QUARTERS
from app.analytics.rollup_models import LinkQuarter, OwnerDay, OwnerQuarter, Seen

LINK_QUARTERS = cast("Table", LinkQuarter.__table__)
OWNER_QUARTERS = cast("Table", OwnerQuarter.__table__)
OWNER_DAYS = cast("Table", OwnerDay.__table__)
SEEN = cast("Table", Seen.__table__)
ONE_AT_A_TIME = 0x57_41_59  # the number of an advisory lock in PostgreSQL
Place = tuple[bool, int, bool, int]  # is_workspace, the id of a workspace or a link, is_bot, quarter
Who = tuple[int, str, bool, int]  # day, visitor, is_workspace, the id of a workspace or a link
# time_ms, link_id, workspace_id, is_bot, visitor: a plain tuple for speed, one is made for every click
Visited = tuple[int, int, int, bool, str | None]


class Sums(NamedTuple):
    pageviews: Counter[Place]
    firsts: dict[Who, tuple[int, bool]]
    days: Counter[tuple[int, int]]


def roll_up(connection: Connection, visits: Iterable[Visited]) -> None:
    """Adds clicks to all their sums, in the transaction that inserts their rows."""
    write_alone(connection)
    sums = sum_visits(visits)
    visitors = count_arrivals(connection, sums.firsts)
    places = sorted({*sums.pageviews, *visitors})
    for is_workspace, table in ((False, LINK_QUARTERS), (True, OWNER_QUARTERS)):
        rows = [
            (*place[1:], sums.pageviews[place], visitors[place])
            for place in places
            if place[0] is is_workspace
        ]
        bulk.insert_or_add(connection, table, rows)
    note_days(connection, sums.days)


def write_alone(connection: Connection) -> None:
    """Locks the sums for this transaction: no other one writes them. (SQLite has one writer anyway.)

    Two at once could both count the same visitor as new, or one could remove rows that the other adds up.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (ONE_AT_A_TIME,))


def sum_visits(visits: Iterable[Visited]) -> Sums:
    sums = Sums(Counter(), {}, Counter())
    pageviews, firsts, days = sums
    for time_ms, link_id, workspace_id, is_bot, visitor in visits:
        quarter = time_ms // QUARTER_MS
        day = quarter // QUARTERS
        days[workspace_id, day] += 1
        for is_workspace, id_ in ((False, link_id), (True, workspace_id)):
            pageviews[is_workspace, id_, is_bot, quarter] += 1
            if visitor is not None:
                who = (day, visitor, is_workspace, id_)
                if who not in firsts or quarter < firsts[who][0]:
                    firsts[who] = (quarter, is_bot)
    return sums


def count_arrivals(connection: Connection, firsts: dict[Who, tuple[int, bool]]) -> Counter[Place]:
    """The change of visitors at each place; negative where a visitor turns out to have come earlier."""
    known = {row[:4]: row[4] for row in bulk.find_rows(connection, SEEN, [*firsts])}
    visitors: Counter[Place] = Counter()
    new = []
    for who, (quarter, is_bot) in firsts.items():
        before = known.get(who)
        if before is None or quarter < before:
            new.append((*who, quarter))
            visitors[*who[2:], is_bot, quarter] += 1
            if before is not None:
                visitors[*who[2:], is_bot, before] -= 1
    more = "(day, visitor, is_workspace, scope_id) DO UPDATE SET quarter = excluded.quarter"
    bulk.insert_rows(connection, SEEN, new, more)
    return visitors


def note_days(connection: Connection, days: Counter[tuple[int, int]]) -> None:
    rows = [(workspace_id, day, visits, None, False) for (workspace_id, day), visits in sorted(days.items())]
    more = "(workspace_id, day) DO UPDATE SET visits = owner_day.visits + excluded.visits"
    bulk.insert_rows(connection, OWNER_DAYS, rows, more)
