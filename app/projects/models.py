"""The table of projects."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import now
from app.core.database import Id, UtcDateTime
from app.core.extensions import db

SAMPLES = "Sample data"  # the project of the sample links


class Project(db.Model):
    """A named, coloured group of one owner's links."""

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(128))
    color: Mapped[str] = mapped_column(String(7), default="#4263eb")
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
