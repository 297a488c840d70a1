"""Freshness of a replica: the first click that the database has and the replica has not."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import func, select

from app.analytics.models import Click
from app.analytics.scope import Bind


def newest_id(bind: Bind) -> int:
    return bind.scalar(select(func.max(Click.id))) or 0


def first_click_after(bind: Bind, id_: int) -> dt.datetime | None:
    """The time of the first click that was ingested after the one of this id; None if there is none."""
    found = bind.scalar(select(Click.time_ms).where(Click.id > id_).order_by(Click.id).limit(1))
    return None if found is None else dt.datetime.fromtimestamp(found / 1000, dt.UTC)
