"""What has no place in the feed yet."""

from __future__ import annotations

from sqlalchemy import func, select

from app.core.database import AnySession
from app.events.drafts import DRAFTS


def count_drafts(session: AnySession) -> int:
    """How many changes wait for their places: none for longer than a second, unless no worker runs."""
    return session.scalar(select(func.count()).select_from(DRAFTS)) or 0
