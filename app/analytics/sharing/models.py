"""The table of share addresses."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import JSON, ForeignKey, String, exists
from sqlalchemy.orm import Mapped, column_property, mapped_column, relationship

from app.accounts.models import User, Workspace, WorkspaceMember
from app.core.clock import now
from app.core.database import Id, UtcDateTime
from app.core.encryption import SealedJson
from app.core.extensions import db


class StatisticsShare(db.Model):
    """A public, read-only address of statistics: of a link, of a project, or (both ids null) of all links.

    It is found by the token's SHA-256. `sealed_token` has the token itself, encrypted, so that its owner can
    copy the address again. `parts`: the dimensions that it shows. `least`: rows with fewer visitors are
    merged. `embed_hosts`: the hosts whose pages may frame it; empty means any.
    """

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    link_id: Mapped[int | None] = mapped_column(ForeignKey("link.id", ondelete="CASCADE"), index=True)
    project_id: Mapped[int | None] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(128))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    sealed_token: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    parts: Mapped[list[str]] = mapped_column(JSON, default=list)
    period: Mapped[str] = mapped_column(String(16), default="30d")
    # days of a fixed period, as 2026-01-31
    start_date: Mapped[str | None] = mapped_column(String(10))
    end_date: Mapped[str | None] = mapped_column(String(10))
    least: Mapped[int] = mapped_column(default=1)
    password_hash: Mapped[str | None] = mapped_column(String(255))
    is_embeddable: Mapped[bool] = mapped_column(default=False)
    embed_hosts: Mapped[list[str]] = mapped_column(JSON, default=list)
    expires_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    revoked_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    uses: Mapped[int] = mapped_column(Id, default=0)
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    user: Mapped[User] = relationship()
    # whether the workspace is there, with anybody in it who may sign in
    has_members: Mapped[bool] = column_property(
        exists().where(
            WorkspaceMember.workspace_id == workspace_id,
            WorkspaceMember.user_id == User.id,
            User.disabled_datetime.is_(None),
            User.deleted_datetime.is_(None),
            Workspace.id == workspace_id,
            Workspace.deleted_datetime.is_(None),
        )
    )
