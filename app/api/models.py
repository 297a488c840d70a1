"""Which creations were asked for under a key of their own, and how were they answered?"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import now
from app.database import UtcDateTime
from app.extensions import db
from app.sealing import SealedJson


class IdempotencyKey(db.Model):
    """One `Idempotency-Key` of one user: reserved while the request runs, then with its answer.

    `token` is whose reservation it is now; a request that finds another's there has lost it, and may not
    create. The answer is sealed, for it may hold what handlers keep sealed.
    """

    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    # of path, fields and files, keyed with the instance's secret: fields hold passwords
    digest: Mapped[str] = mapped_column(String(64))
    token: Mapped[str] = mapped_column(String(32))
    lease_until: Mapped[dt.datetime] = mapped_column(UtcDateTime)
    answer: Mapped[dict[str, Any] | None] = mapped_column(SealedJson)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now, index=True)
