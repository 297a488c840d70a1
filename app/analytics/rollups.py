"""How do visits become sums, each exactly once, whatever order they come in?

A visitor counts in the quarter of an hour of the day's first visit. One that was taken in later but came
earlier (two processes write two journals) takes the place of the one that was counted so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.clicks import bulk
from app.clicks.periods import QUARTER_MS, QUARTERS
from app.clicks.rollup_models import LinkQuarter, OwnerDay, OwnerQuarter, Seen

LINK_QUARTERS = cast("Table", LinkQuarter.__table__)
OWNER_QUARTERS = cast("Table", OwnerQuarter.__table__)
OWNER_DAYS = cast("Table", OwnerDay.__table__)
SEEN = cast("Table", Seen.__table__)
ONE_AT_A_TIME = 0x57_41_59  # PostgreSQL's number of a lock of ours

Place = tuple[int, bool, int]  # whose (a link's id, or minus an owner's), whether a bot's, in which quarter
Who = tuple[int, str, int]  # the day, the visitor, and again whose
# time_ms, link_id, user_id, is_bot, visitor: a plain tuple, for this is made of every visit
Visited = tuple[int, int, int, bool, str | None]


class Sums(NamedTuple):
    pageviews: Counter[Place]
    firsts: dict[Who, tuple[int, bool]]
    days: Counter[tuple[int, int]]


def roll_up(connection: Connection, visits: Iterable[Visited]) -> None:
    """Add visits to every sum they belong to, in the transaction that makes rows of them."""
    write_alone(connection)
    sums = summed(visits)
    visitors = arrived(connection, sums.firsts)
    places = [
        (*place, sums.pageviews[place], visitors[place]) for place in sorted({*sums.pageviews, *visitors})
    ]
    bulk.add(connection, LINK_QUARTERS, [place for place in places if place[0] >= 0])
    bulk.add(connection, OWNER_QUARTERS, [(-place[0], *place[1:]) for place in places if place[0] < 0])
    note_days(connection, sums.days)


def write_alone(connection: Connection) -> None:
    """Wait until nobody else writes sums, until this transaction ends. (SQLite has one writer anyway.)

    Two at once could each take the same visitor for new, or remove rows that the other one adds up.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (ONE_AT_A_TIME,))


def summed(visits: Iterable[Visited]) -> Sums:
    sums = Sums(Counter(), {}, Counter())
    pageviews, firsts, days = sums
    for time_ms, link_id, user_id, is_bot, visitor in visits:
        quarter = time_ms // QUARTER_MS
        day = quarter // QUARTERS
        days[user_id, day] += 1
        for whose in (link_id, -user_id):
            pageviews[whose, is_bot, quarter] += 1
            if visitor is not None:
                who = (day, visitor, whose)
                if who not in firsts or quarter < firsts[who][0]:
                    firsts[who] = (quarter, is_bot)
    return sums


def arrived(connection: Connection, firsts: dict[Who, tuple[int, bool]]) -> Counter[Place]:
    """How many visitors more (or, where one turns out to have come earlier, fewer) each place has."""
    known = {row[:3]: row[3] for row in bulk.find(connection, SEEN, [*firsts])}
    visitors: Counter[Place] = Counter()
    new = []
    for who, (quarter, is_bot) in firsts.items():
        before = known.get(who)
        if before is None or quarter < before:
            new.append((*who, quarter))
            visitors[who[2], is_bot, quarter] += 1
            if before is not None:
                visitors[who[2], is_bot, before] -= 1
    bulk.put(connection, SEEN, new, "(day, visitor, scope) DO UPDATE SET quarter = excluded.quarter")
    return visitors


def note_days(connection: Connection, days: Counter[tuple[int, int]]) -> None:
    rows = [(user_id, day, visits, None, False) for (user_id, day), visits in sorted(days.items())]
    more = "(user_id, day) DO UPDATE SET visits = owner_day.visits + excluded.visits"
    bulk.put(connection, OWNER_DAYS, rows, more)
