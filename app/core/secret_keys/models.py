"""Records of the secret keys that this database was encrypted with: fingerprints, never keys."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import now
from app.core.database import Id, UtcDateTime
from app.core.encryption import SealedJson
from app.core.extensions import db


class KeyRecord(db.Model):
    """One secret key. Exactly one is not retired: the key that the database needs.

    `verifiers`: of a retired key, by purpose, what verifies the tokens it has signed for others to keep.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(16), unique=True)
    verifiers: Mapped[dict[str, Any] | None] = mapped_column(SealedJson)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
    retired_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
