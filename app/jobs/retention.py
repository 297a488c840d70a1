"""How long is it kept what became of messages?"""

from __future__ import annotations

import datetime as dt

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.clock import now
from app.config import Settings
from app.database import begin_write
from app.notifications.models import PENDING, Delivery
from app.notifications.outbox import end_pending

KEPT = dt.timedelta(days=30)
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
