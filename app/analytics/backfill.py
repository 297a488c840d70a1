"""Backfill: adds clicks that were stored before roll-ups existed to the roll-ups.

It goes by their ids, in batches between the ingest of new clicks. An offset stores how far it has come.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from app.analytics import user_agents
from app.analytics.interning import Interner
from app.analytics.models import Click, Position, Term
from app.analytics.offsets import move_offset
from app.analytics.rollups import roll_up
from app.analytics.scope import Bind

NAME = "roll-ups"  # its row among the offsets: `rows_offset` is the last id, `counters_offset` how far it is
BATCH_SIZE = 5000


def step(engine: Engine, terms: Interner) -> bool:
    """Adds a batch of the oldest rows; returns whether there were any. Raises Moved if another did so."""
    with engine.connect().execution_options(reads=True) as connection:
        done, end = read_state(connection)
    if done >= end:
        return False
    with engine.begin() as connection:
        terms.begin(connection)
        wanted = select(
            Click.id, Click.agent_id, Click.time_ms, Click.link_id, Click.user_id, Click.is_bot, Click.visitor
        )
        some = wanted.where(Click.id > done, Click.id <= end).order_by(Click.id).limit(BATCH_SIZE)
        rows = connection.execute(some).all()
        move_offset(connection, NAME, "counters_offset", done, rows[-1].id if rows else end)
        roll_up(connection, [row[2:] for row in rows])
        found = {row.agent_id for row in rows if row.agent_id is not None}
        texts = connection.execute(select(Term.value).where(Term.id.in_(found))).scalars()
        user_agents.store_descriptions(connection, terms, set(texts))
    terms.keep()
    return True


def read_state(bind: Bind) -> tuple[int, int]:
    """The click id up to which it is done, and the one it ends with."""
    row = bind.execute(
        select(Position.counters_offset, Position.rows_offset).where(Position.name == NAME)
    ).first()
    return (row.counters_offset, row.rows_offset) if row else (0, 0)
