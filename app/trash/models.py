"""The table of the trash: deleted things that can still be restored."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import now
from app.core.database import Id, LongMessageText, UtcDateTime
from app.core.encryption import SealedJson
from app.core.extensions import db

RETENTION = dt.timedelta(days=30)


class Trashed(db.Model):
    """One link, pixel or handler that its owner deleted, with its dependent rows.

    It is gone from its own table, so that no other code needs to know of the trash. `kind` is that table's
    name and `row_id` its id there, which is never given again. `batch` is the same for things that were
    deleted at once. `rows`: table → its rows, encrypted, because some of them are secrets.
    """

    __table_args__ = (
        UniqueConstraint("kind", "row_id"),
        Index(None, "workspace_id", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(32))
    row_id: Mapped[int] = mapped_column(Id)
    batch: Mapped[str] = mapped_column(String(32), index=True)
    # what the trash shows of it
    name: Mapped[str] = mapped_column(String(1024))
    detail: Mapped[str] = mapped_column(LongMessageText, default="")
    rows: Mapped[dict[str, Any]] = mapped_column(SealedJson, deferred=True)
    deleted_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now, index=True)

    @property
    def ends(self) -> dt.datetime:
        """Until when it can be restored."""
        return self.deleted_datetime + RETENTION
