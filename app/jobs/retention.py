"""Rows that are kept for a while and then removed: deliveries, redeemed tickets."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.clock import now
from app.config import Settings
from app.database import begin_write
from app.notifications.models import PENDING, Delivery
from app.notifications.outbox import end_pending
from app.visits.models import RedeemedTicket

KEPT = dt.timedelta(days=30)
# beyond a ticket's own ten minutes: a clock that is set back must not make one good again
TICKET_RETENTION = dt.timedelta(days=1)
AT_ONCE = 500  # in a transaction: others write, too


def forget_deliveries(session: Session, _settings: Settings) -> None:
    """What is over and old goes, with its attempts. What waits for a handler that is off has ended."""
    begin_write(session)
    end_pending(session)
    session.commit()
    over = select(Delivery.id).where(Delivery.status != PENDING, Delivery.datetime < now() - KEPT)
    while ids := session.scalars(over.limit(AT_ONCE)).all():
        begin_write(session)
        session.execute(delete(Delivery).where(Delivery.id.in_(ids)))
        session.commit()


def forget_redeemed_tickets(session: Session, _settings: Settings) -> None:
    """Removes the tickets that have expired long ago."""
    over = select(RedeemedTicket.id).where(RedeemedTicket.expires_datetime < now() - TICKET_RETENTION)
    while ids := session.scalars(over.limit(AT_ONCE)).all():
        begin_write(session)
        session.execute(delete(RedeemedTicket).where(RedeemedTicket.id.in_(ids)))
        session.commit()
