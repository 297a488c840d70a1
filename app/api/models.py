"""Table of idempotency keys, with the answers stored under them."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import now
from app.core.database import UtcDateTime
from app.core.encryption import SealedJson
from app.core.extensions import db


class IdempotencyKey(db.Model):
    """One `Idempotency-Key` of a user in a workspace: reserved while the request runs, then with its answer.

    `token` names the request that holds the reservation. A request that finds another token has lost it, and
    may not create. The answer is encrypted, because it may hold secrets of handlers.
    """

    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), primary_key=True)
    workspace_id: Mapped[int] = mapped_column(
        ForeignKey("workspace.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    # of path, fields and files; keyed with the instance's secret, because fields hold passwords
    digest: Mapped[str] = mapped_column(String(64))
    token: Mapped[str] = mapped_column(String(32))
    lease_until: Mapped[dt.datetime] = mapped_column(UtcDateTime)
    answer: Mapped[dict[str, Any] | None] = mapped_column(SealedJson)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now, index=True)
