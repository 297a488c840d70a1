"""The table of pixels: the tracking identifiers that owners have stored."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import now
from app.core.database import Id, UtcDateTime
from app.core.extensions import db


class Pixel(db.Model):
    """A provider's identifier under a name; `type` is a file of `pixels/providers`."""

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    type: Mapped[str] = mapped_column(String(32))
    name: Mapped[str] = mapped_column(String(128))
    pixel: Mapped[str] = mapped_column(String(128))
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
