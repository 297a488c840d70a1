"""The table of domains: owners' own hosts for links."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import now
from app.core.database import Id, UtcDateTime
from app.core.extensions import db


class Domain(db.Model):
    """A host that carries one owner's links. `host` is lower-case IDNA with an optional port."""

    __table_args__ = (
        # one verified owner a host; any number of users may be trying to verify it
        Index(
            "uq_domain_verified_host",
            "host",
            unique=True,
            sqlite_where=text("is_verified"),
            postgresql_where=text("is_verified"),
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    host: Mapped[str] = mapped_column(String(261))
    scheme: Mapped[str] = mapped_column(String(8), default="https://")
    custom_index_url: Mapped[str | None] = mapped_column(String(8192))
    custom_not_found_url: Mapped[str | None] = mapped_column(String(8192))
    is_enabled: Mapped[bool] = mapped_column(default=True)
    is_verified: Mapped[bool] = mapped_column(default=False)
    token: Mapped[str] = mapped_column(String(64))
    # when its proof was checked last, and since when every check with a result found it missing
    checked_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    unproven_since: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
