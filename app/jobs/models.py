"""Which jobs are there, when is each one due, and who is at it?"""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app.claims import Claimed
from app.database import Id
from app.extensions import db


class Job(Claimed, db.Model):
    """One job by its name, and the times it is due at (`cron`, in UTC)."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    cron: Mapped[str] = mapped_column(String(64))
