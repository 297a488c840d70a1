"""Which deliveries are due, and what has a thread to know to send one?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from app.accounts.models import User
from app.claims import claim, is_due, is_free, moment
from app.database import AnySession, begin_write
from app.error_boundary import ErrorBoundary
from app.notifications.confirmation import refusal_of
from app.notifications.lanes import Parcel
from app.notifications.messages import message_of
from app.notifications.models import Delivery, NotificationHandler
from app.notifications.outbox import put_off
from app.notifications.site import Site
from app.notifications.stopping import stop_url

MOST = 500


class Found(NamedTuple):
    """A delivery that is due. `is_failing`: what its handler was sent last has not arrived."""

    id: int
    handler_id: int
    is_failing: bool


def find(
    session: Session, now: dt.datetime, without: Collection[int], *, only_healthy: bool = False
) -> Sequence[Found]:
    """What nobody is at, the longest due first; but those first that nothing speaks against."""
    failing = NotificationHandler.failing_since.is_not(None)
    due = (
        select(Delivery.id, Delivery.handler_id, failing)
        .join(NotificationHandler)
        .join(User, User.id == NotificationHandler.user_id)
        .where(User.deleted_datetime.is_(None))
        .where(is_due(Delivery, now), is_free(Delivery, now), NotificationHandler.is_enabled)
        .order_by(failing, Delivery.due)
        .limit(MOST)
    )
    if without:
        due = due.where(Delivery.handler_id.not_in(without))
    if only_healthy:
        due = due.where(~failing)
    return [Found(id_, handler_id, bool(is_failing)) for id_, handler_id, is_failing in session.execute(due)]


class Lag(NamedTuple):
    """What is due, and since when the longest waits."""

    waiting: int
    seconds: float


def lag(session: AnySession) -> Lag:
    """How far behind deliveries are. What is sent at this moment is counted until it has arrived."""
    now = moment()
    due = select(func.count(), func.min(Delivery.due)).where(Delivery.due <= now)
    count, oldest = session.execute(due).one()
    return Lag(count, (now - oldest).total_seconds() if oldest else 0.0)


def take(session: Session, ids: Sequence[int], who: str, site: Site, errors: ErrorBoundary) -> list[Parcel]:
    """Claim them; what has become ours. One whose message can't be made counts as a try that failed."""
    begin_write(session)
    taken = claim(session, Delivery, ids, who, moment())
    session.commit()
    parcels: list[Parcel] = []
    failed = errors.each(taken, lambda some: parcels.extend(parcels_of(session, some, site)))
    session.rollback()
    for id_, _ in failed:
        with errors.attempt():
            put_off(session, id_)
    return parcels


def parcels_of(session: Session, ids: Sequence[int], site: Site) -> list[Parcel]:
    session.rollback()
    rows = select(Delivery).where(Delivery.id.in_(ids)).options(joinedload(Delivery.handler))
    found = session.scalars(rows.order_by(Delivery.due, Delivery.id))
    return [parcel_of(session, row, site) for row in found]


def parcel_of(session: Session, row: Delivery, site: Site) -> Parcel:
    owner = session.get_one(User, row.handler.user_id)
    message = replace(message_of(row, site, owner.language), stop_url=stop_url(row.handler, site))
    handler = row.handler
    return Parcel(row.id, handler.id, handler.type, dict(handler.settings), message, refusal_of(handler))
