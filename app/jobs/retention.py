"""Rows that are kept for a while and then removed: deliveries, redeemed tickets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from app.clock import now
from app.config import Settings
from app.database import begin_write
from app.error_boundary import ErrorBoundary
from app.notifications.models import PENDING, Delivery
from app.notifications.outbox import end_pending
from app.visits.models import RedeemedTicket

KEPT = dt.timedelta(days=30)
# beyond a ticket's own ten minutes: a clock that is set back must not make one good again
TICKET_RETENTION = dt.timedelta(days=1)
AT_ONCE = 500  # in a transaction: others write, too

deliveries, tickets = ErrorBoundary("old deliveries"), ErrorBoundary("redeemed tickets")


def forget_deliveries(session: Session, _settings: Settings) -> None:
    """What is over and old goes, with its attempts. What waits for a handler that is off has ended."""
    with deliveries.attempt("deliveries of handlers that are off"):
        begin_write(session)
        end_pending(session)
        session.commit()
    remove(session, deliveries, Delivery, Delivery.status != PENDING, Delivery.datetime < now() - KEPT)


def forget_redeemed_tickets(session: Session, _settings: Settings) -> None:
    """Removes the tickets that have expired long ago."""
    remove(session, tickets, RedeemedTicket, RedeemedTicket.expires_datetime < now() - TICKET_RETENTION)


def remove(
    session: Session, errors: ErrorBoundary, model: type[Any], *conditions: ColumnElement[bool]
) -> None:
    """Deletes rows that meet all conditions, some at a time. A row that can't go keeps no other."""
    session.rollback()
    failing = errors.backed_off(model.id.type.python_type)
    after: tuple[ColumnElement[bool], ...] = ()
    while True:
        wanted = select(model.id).where(*conditions, *after, model.id.not_in(failing))
        ids = session.scalars(wanted.order_by(model.id).limit(AT_ONCE)).all()
        session.rollback()
        if not ids:
            return
        after = (model.id > ids[-1],)
        errors.each(ids, lambda some: remove_some(session, model, some))


def remove_some(session: Session, model: type[Any], ids: Sequence[int]) -> None:
    begin_write(session)
    session.execute(delete(model).where(model.id.in_(ids)))
    session.commit()
