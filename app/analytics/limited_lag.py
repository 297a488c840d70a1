"""How many visits of limited links are not in the statistics yet, and how long has the oldest waited?"""

from __future__ import annotations

from typing import NamedTuple, cast

from sqlalchemy import Table, exists, func, select
from sqlalchemy.orm import Session

from app.clicks.models import Taken
from app.journal.record import FORMATS
from app.visits.models import LimitedVisit

VISITS = cast("Table", LimitedVisit.__table__)
TAKEN = cast("Table", Taken.__table__)

IS_NEW = ~exists().where(TAKEN.c.id == VISITS.c.id)
IS_KNOWN = VISITS.c.version.in_(FORMATS)


class LimitedLag(NamedTuple):
    """They are counted in any case, where they are. `unknown` ones wait for a newer version."""

    waiting: int
    seconds: float
    unknown: int


def limited_lag(session: Session, now: float) -> LimitedLag:
    """As of now, in seconds since 1970."""
    waiting = session.scalar(select(func.count()).select_from(VISITS).where(IS_NEW, IS_KNOWN)) or 0
    unknown = session.scalar(select(func.count()).select_from(VISITS).where(~IS_KNOWN)) or 0
    return LimitedLag(waiting, max(now - oldest(session, now), 0.0), unknown)


def oldest(session: Session, now: float) -> float:
    """When the first of them came. By its id: one that is damaged is as old as now, and taken in as such."""
    found = session.execute(select(VISITS).where(IS_NEW, IS_KNOWN).order_by(VISITS.c.id).limit(1)).first()
    visit = found and FORMATS[found.version].decode(bytes(found.line).strip(b"\n"))
    return visit.time_ms / 1000 if visit else now
