"""How do visits get into the sums that were rows before there were any sums?

By their ids, some at a time, beside the visits of the moment; a position says how far that has come.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from app.clicks import agents
from app.clicks.models import Click, Position, Term
from app.clicks.positions import move
from app.clicks.rollups import roll_up
from app.clicks.scope import Bind
from app.clicks.terms import Terms

NAME = "roll-ups"  # among the positions; its "rows" are where it ends, its "counters" how far it is
AT_ONCE = 5000


def step(engine: Engine, terms: Terms) -> bool:
    """Some of the oldest rows; whether there were any. Raises Moved where another process was first."""
    with engine.connect().execution_options(reads=True) as connection:
        done, end = state(connection)
    if done >= end:
        return False
    with engine.begin() as connection:
        terms.begin(connection)
        wanted = select(
            Click.id, Click.agent_id, Click.time_ms, Click.link_id, Click.user_id, Click.is_bot, Click.visitor
        )
        some = wanted.where(Click.id > done, Click.id <= end).order_by(Click.id).limit(AT_ONCE)
        rows = connection.execute(some).all()
        move(connection, NAME, "counters_offset", done, rows[-1].id if rows else end)
        roll_up(connection, [row[2:] for row in rows])
        found = {row.agent_id for row in rows if row.agent_id is not None}
        texts = connection.execute(select(Term.value).where(Term.id.in_(found))).scalars()
        agents.describe(connection, terms, set(texts))
    terms.keep()
    return True


def state(bind: Bind) -> tuple[int, int]:
    """The id up to which it is done, and the one it ends with."""
    row = bind.execute(
        select(Position.counters_offset, Position.rows_offset).where(Position.name == NAME)
    ).first()
    return (row.counters_offset, row.rows_offset) if row else (0, 0)
