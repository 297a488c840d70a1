"""Single clicks by batches of their ids, in SQLite and PostgreSQL: for the feed of events."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, or_, select

from app.analytics.click_reader import ClickBatch, ToldClick
from app.analytics.interned_texts import texts_of
from app.analytics.raw_queries import CLICKS, source
from app.analytics.scope import Bind
from app.analytics.visit_pages import WORDS, WORDS_OF_AGENT
from app.core.scheduling import giving_way

# what is told of a click beside its numbers, by the names of the API: no bot's name, no agent, no visitor
TOLD = {name: column for name, column in WORDS.items() if name != "bot_name"}
NUMBERS = (CLICKS.c.id, CLICKS.c.time_ms, CLICKS.c.link_id, CLICKS.c.is_bot)
# a batch of a longer time holds late clicks: others of the workspace within that time may be very many
WIDE_MS = 60 * 60 * 1000


def told_clicks(
    bind: Bind, workspace_id: int, batches: Sequence[ClickBatch], link_id: int | None
) -> list[ToldClick]:
    """The clicks of a workspace in these batches, by id; with `link_id` only those on that link."""
    wanted = [or_(*(within(workspace_id, batch) for batch in batches))]
    if link_id is not None:
        wanted.append(CLICKS.c.link_id == link_id)
    found = select(*NUMBERS, *TOLD.values()).select_from(source(WORDS_OF_AGENT)).where(*wanted)
    rows = bind.execute(found.order_by(CLICKS.c.id)).all()
    texts = texts_of(bind, {id_ for row in rows for id_ in row[len(NUMBERS) :]})
    return [
        ToldClick(id_, time_ms, link, is_bot, tuple(texts.get(word) or None for word in words))
        for id_, time_ms, link, is_bot, *words in giving_way(rows)
    ]


def within(workspace_id: int, batch: ClickBatch) -> ColumnElement[bool]:
    """Whether a row is of a batch: found by the time where that is short, else by the ids alone."""
    ids = CLICKS.c.id.between(batch.first_id, batch.last_id)
    if batch.last_ms - batch.first_ms > WIDE_MS:
        return and_(CLICKS.c.user_id + 0 == workspace_id, ids)  # the sum keeps it from the index by time
    return and_(
        CLICKS.c.user_id == workspace_id, CLICKS.c.time_ms.between(batch.first_ms, batch.last_ms), ids
    )
