"""Whom does an owner have told, and by which way?"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import now
from app.database import Id, UtcDateTime
from app.extensions import db
from app.sealing import SealedJson


class NotificationHandler(db.Model):
    """A place to deliver to; `type` is a file of `notifications/transports`, which names its settings."""

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    type: Mapped[str] = mapped_column(String(32))
    name: Mapped[str] = mapped_column(String(128))
    settings: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    is_enabled: Mapped[bool] = mapped_column(default=True)
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
