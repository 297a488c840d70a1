"""Leases: exactly one worker gets a row of work, and another one may take it over once the lease expires.

A row is taken by a conditional update that writes the lease.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, String, and_, or_, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.database import UtcDateTime

# a time further ahead than this was written by a clock that has been set back since
SLACK = dt.timedelta(seconds=60)
# so the work of a killed worker is taken up within a minute of the next start
LEASE = dt.timedelta(seconds=40)


def precise_now() -> dt.datetime:
    """The current time with the fraction of a second: work is due to the millisecond."""
    return dt.datetime.now(dt.UTC)


class Claimed:
    """Columns of a table of work.

    `due`: when the row is due; null is never again. `planned`: when `due` was set. `who`: the worker that
    holds the row. `lease`: until when.
    """

    due: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    planned: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=precise_now)
    lease: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    who: Mapped[str | None] = mapped_column(String(32))


def is_due(model: type[Claimed], now: dt.datetime) -> ColumnElement[bool]:
    """Whether a row is due, also where a wrong clock has set that time: early is better than never."""
    return and_(model.due.is_not(None), or_(model.due <= now, model.planned > now + SLACK))


def is_free(model: type[Claimed], now: dt.datetime) -> ColumnElement[bool]:
    """Whether no worker holds a row. A lease longer than any that is given was written by a wrong clock."""
    return or_(model.lease.is_(None), model.lease <= now, model.lease > now + LEASE + SLACK)


def claim(
    session: Session,
    model: type[Any],
    ids: Collection[Any],
    who: str,
    now: dt.datetime,
) -> list[Any]:
    """Takes rows for the worker `who`. Returns the ids that it got: concurrent workers get the others."""
    taken = (
        update(model)
        .where(model.id.in_(ids), is_due(model, now), is_free(model, now))
        .values(lease=now + LEASE, who=who)
        .returning(model.id)
    )
    return list(session.scalars(taken, execution_options={"synchronize_session": False}))
