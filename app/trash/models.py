"""What was thrown away, and could still be put back?"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.clock import now
from app.database import Id, UtcDateTime
from app.extensions import db
from app.sealing import SealedJson

KEPT = dt.timedelta(days=30)


class Trashed(db.Model):
    """One link, pixel or handler that its owner deleted: itself, and all rows that fell with it.

    It is gone from its own table, so that nothing else needs to know of the trash. `kind` is that table's
    name and `row_id` its id there, which nothing else ever gets. `batch` is the same for what was deleted at
    once. `rows`: table → its rows, sealed, for some of them are secrets.
    """

    __table_args__ = (
        UniqueConstraint("kind", "row_id"),
        Index(None, "user_id", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(32))
    row_id: Mapped[int] = mapped_column(Id)
    batch: Mapped[str] = mapped_column(String(32), index=True)
    # what the trash shows of it
    name: Mapped[str] = mapped_column(String(1024))
    detail: Mapped[str] = mapped_column(Text, default="")
    rows: Mapped[dict[str, Any]] = mapped_column(SealedJson, deferred=True)
    deleted_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now, index=True)

    @property
    def ends(self) -> dt.datetime:
        """Until when it can be put back."""
        return self.deleted_datetime + KEPT
