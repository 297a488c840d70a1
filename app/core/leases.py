"""How does exactly one worker get a piece of work, and how does another one get it when the first is gone?

By a conditional update that leaves a lease: a piece of work is its taker's until then, and anybody's after.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, String, and_, or_, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.database import UtcDateTime

# what stands further ahead than this was written by a clock that has been set back since
SLACK = dt.timedelta(seconds=60)
# what a killed worker had goes on within a minute of the next start
LEASE = dt.timedelta(seconds=40)


def moment() -> dt.datetime:
    """Now, with the fraction of a second: work is due to the millisecond."""
    return dt.datetime.now(dt.UTC)


class Claimed:
    """What a table of work has: when a row is `due` (null: never again), when that was `planned`, and whose
    (`who`) the row is until when (`lease`)."""

    due: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    planned: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=moment)
    lease: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    who: Mapped[str | None] = mapped_column(String(32))


def is_due(model: type[Claimed], now: dt.datetime) -> ColumnElement[bool]:
    """Is it time? Also where the time was reckoned by a clock that was wrong: rather early than never."""
    return and_(model.due.is_not(None), or_(model.due <= now, model.planned > now + SLACK))


def is_free(model: type[Claimed], now: dt.datetime) -> ColumnElement[bool]:
    """Is it nobody's? A lease longer than any that is given is one of a wrong clock."""
    return or_(model.lease.is_(None), model.lease <= now, model.lease > now + LEASE + SLACK)


def claim(
    session: Session,
    model: type[Any],
    ids: Collection[Any],
    who: str,
    now: dt.datetime,
) -> list[Any]:
    """Those of `ids` that are `who`'s from now on: whoever looked at the same rows gets the others."""
    taken = (
        update(model)
        .where(model.id.in_(ids), is_due(model, now), is_free(model, now))
        .values(lease=now + LEASE, who=who)
        .returning(model.id)
    )
    return list(session.scalars(taken, execution_options={"synchronize_session": False}))
