"""Events at the start and end date of links, each raised once.

`start_due` and `end_due` hold a date in the future. Raising its event clears it, in the same transaction. A
date that is in the past when it is set raises no event.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.leases import precise_now
from app.links.models import Link
from app.notifications.events import raise_ended, raise_started

BATCH_SIZE = 500
errors = ErrorBoundary("starts and ends of links")
# each date of a link, and the column that holds it while it is to come
MOMENTS = (("start_date", "start_due"), ("end_date", "end_due"))

Dates = dict[str, dt.datetime | None]


def dates_of(link: Link) -> Dates:
    return {date: getattr(link, date) for date, _ in MOMENTS}


def expect(link: Link, before: Dates) -> None:
    """Set the due dates of the dates that changed; those in the past have none."""
    for date, due in MOMENTS:
        value = getattr(link, date)
        if value != before.get(date):
            setattr(link, due, value if value and value > precise_now() else None)


def tell_moments(session: Session) -> bool:
    """Raise the events of all dates that have come. Returns whether there were any."""
    now = precise_now()
    ids = session.scalars(due_links(now)).all()
    errors.each(sorted(ids), lambda some: tell_some(session, some, now))
    session.rollback()
    return bool(ids)


def due_links(now: dt.datetime) -> Select[int]:
    """Some links with a date that has come.

    In no order: to have them by id, SQLite would read all links twice a second instead of the two indexes.
    """
    has_come = or_(*(getattr(Link, due) <= now for _, due in MOMENTS))
    return select(Link.id).where(has_come, Link.id.not_in(errors.backed_off(int))).limit(BATCH_SIZE)


def tell_some(session: Session, ids: Sequence[int], now: dt.datetime) -> None:
    """Raise the events of these links in one transaction."""
    begin_write(session)
    come = select(Link).where(Link.id.in_(ids)).order_by(Link.id).with_for_update()
    for link in session.scalars(come):
        start_date, end_date = (take_due(link, due, now) for _, due in MOMENTS)
        if link.is_enabled:  # for visitors, a disabled link neither starts nor ends
            if start_date:
                raise_started(session, link.id, start_date=start_date)
            if end_date:
                raise_ended(session, link.id, end_date=end_date)
    session.commit()


def take_due(link: Link, due: str, now: dt.datetime) -> dt.datetime | None:
    """Take the date out of its column if it has come, and return it."""
    value: dt.datetime | None = getattr(link, due)
    if value is None or value > now:
        return None
    setattr(link, due, None)
    return value
