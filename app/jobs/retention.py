"""Rows that are kept for a while and then removed: deliveries, own mails, redeemed tickets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.notifications.models import PENDING, Delivery, SystemEmail
from app.notifications.outbox import end_pending
from app.redirects.models import RedeemedTicket

RETENTION = dt.timedelta(days=30)
MAIL_RETENTION = dt.timedelta(days=7)
# beyond a ticket's own ten minutes: a clock that is set back must not make one good again
TICKET_RETENTION = dt.timedelta(days=1)
BATCH_SIZE = 500  # rows in a transaction, so that others can write in between

deliveries, tickets = ErrorBoundary("old deliveries"), ErrorBoundary("redeemed tickets")
mails = ErrorBoundary("old mails")


def forget_deliveries(session: Session, _settings: Settings) -> None:
    """Deletes old deliveries that have ended, with their attempts. Ends those whose handler is off first."""
    with deliveries.attempt("deliveries of handlers that are off"):
        begin_write(session)
        end_pending(session)
        session.commit()
    remove(session, deliveries, Delivery, Delivery.status != PENDING, Delivery.datetime < now() - RETENTION)


def forget_mails(session: Session, _settings: Settings) -> None:
    """Deletes mails from Waypost itself that were sent or given up, with their deliveries."""
    is_over = SystemEmail.id.in_(
        select(Delivery.letter_id).where(Delivery.letter_id.is_not(None), Delivery.status != PENDING)
    )
    remove(session, mails, SystemEmail, is_over, SystemEmail.datetime < now() - MAIL_RETENTION)


def forget_redeemed_tickets(session: Session, _settings: Settings) -> None:
    """Removes tickets that expired long ago."""
    remove(session, tickets, RedeemedTicket, RedeemedTicket.expires_datetime < now() - TICKET_RETENTION)


def remove(
    session: Session, errors: ErrorBoundary, model: type[Any], *conditions: ColumnElement[bool]
) -> None:
    """Deletes rows that meet all conditions, in batches. A row that can't be deleted holds up no other."""
    session.rollback()
    failing = errors.backed_off(model.id.type.python_type)
    after: tuple[ColumnElement[bool], ...] = ()
    while True:
        wanted = select(model.id).where(*conditions, *after, model.id.not_in(failing))
        ids = session.scalars(wanted.order_by(model.id).limit(BATCH_SIZE)).all()
        session.rollback()
        if not ids:
            return
        after = (model.id > ids[-1],)
        errors.each(ids, lambda some: remove_some(session, model, some))


def remove_some(session: Session, model: type[Any], ids: Sequence[int]) -> None:
    begin_write(session)
    session.execute(delete(model).where(model.id.in_(ids)))
    session.commit()
