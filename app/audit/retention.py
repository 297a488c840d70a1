"""Deletes audit entries that are older than the configured retention. Nothing else can delete any."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.audit.models import AuditEntry, AuditRetention
from app.core.clock import now
from app.core.database import begin_write

BATCH_SIZE = 500  # in a transaction, so that other writers get their turn


def delete_old_entries(session: Session, days: int) -> int:
    """Delete old entries and return how many. First stores for how long the triggers protect an entry."""
    begin_write(session)
    session.merge(AuditRetention(id=1, days=days))
    session.commit()
    # a second less: the triggers use the database's clock, which may be a moment behind this one
    old = AuditEntry.datetime < now() - dt.timedelta(days=days, seconds=1)
    gone = 0
    while ids := session.scalars(
        select(AuditEntry.id).where(old).order_by(AuditEntry.id).limit(BATCH_SIZE)
    ).all():
        begin_write(session)
        session.execute(delete(AuditEntry).where(AuditEntry.id.in_(ids)))
        session.commit()
        gone += len(ids)
    session.rollback()
    return gone
