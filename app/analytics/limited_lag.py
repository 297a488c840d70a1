"""Lag of the ingest of clicks on links with a click limit: their number and the oldest one's age."""

from __future__ import annotations

from typing import NamedTuple, cast

from sqlalchemy import Table, exists, func, select

from app.analytics.models import IngestedLimitedClick
from app.core.database import AnySession
from app.journal.codec import FORMATS
from app.redirects.models import LimitedVisit

VISITS = cast("Table", LimitedVisit.__table__)
TAKEN = cast("Table", IngestedLimitedClick.__table__)

IS_NEW = ~exists().where(TAKEN.c.id == VISITS.c.id)
IS_KNOWN = VISITS.c.version.in_(FORMATS)


class LimitedLag(NamedTuple):
    """Clicks that are counted, but not in the statistics yet. `unknown` ones wait for a newer version."""

    waiting: int
    seconds: float
    unknown: int


def limited_lag(session: AnySession, now: float) -> LimitedLag:
    """The lag as of `now`, in seconds since 1970."""
    waiting = session.scalar(select(func.count()).select_from(VISITS).where(IS_NEW, IS_KNOWN)) or 0
    unknown = session.scalar(select(func.count()).select_from(VISITS).where(~IS_KNOWN)) or 0
    return LimitedLag(waiting, max(now - find_oldest(session, now), 0.0), unknown)


def find_oldest(session: AnySession, now: float) -> float:
    """The time of the waiting click with the lowest id; `now` if there is none or it is damaged."""
    found = session.execute(select(VISITS).where(IS_NEW, IS_KNOWN).order_by(VISITS.c.id).limit(1)).first()
    visit = found and FORMATS[found.version].decode(bytes(found.line).strip(b"\n"))
    return visit.time_ms / 1000 if visit else now
