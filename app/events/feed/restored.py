"""The feed after a restore: it goes on at positions, and clicks get ids, that were never given before.

What was told after the backup is of a past that is gone, but readers and receivers have its cursors and ids.
Given again, such a cursor would skip what follows, and a receiver would take a new click for one it has seen.
"""

# see docs/decisions/2026-11-25-events-feed.md
from __future__ import annotations

import time

from sqlalchemy import Engine, select, text, update
from sqlalchemy.engine import Connection

from app.analytics.rows import SEQUENCE
from app.events.entries import COUNTER, reserve

# of positions, and of ids, for each second since 1970: more than can be given in one, and less than 2**53 in
# all, up to which every program counts exactly
PER_SECOND = 2**20


def leave_past(engine: Engine) -> None:
    """Has positions and ids go on from what the time of this restore gives, which no earlier one has reached.

    `engine`: of the clicks. Nothing else may write meanwhile.
    """
    with engine.begin() as connection:
        reserve(connection, 0)  # there is a row from here on
        given = connection.execute(select(COUNTER.c.position, COUNTER.c.click_id)).one()
        position, click_id = (max(last + PER_SECOND, begin()) for last in given)
        connection.execute(update(COUNTER).values(position=position, click_id=click_id))
        if connection.dialect.name == "postgresql":
            raise_sequence(connection)


def raise_sequence(connection: Connection) -> None:
    statement = f"SELECT setval('{SEQUENCE}', greatest(last_value + :step, :first)) FROM {SEQUENCE}"  # noqa: S608
    connection.execute(text(statement), {"step": PER_SECOND, "first": begin()})


def begin() -> int:
    return int(time.time()) * PER_SECOND
