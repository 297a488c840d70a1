"""What is kept of a visit that can't go through the journal?"""

from __future__ import annotations

from sqlalchemy import LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.database import Id
from app.extensions import db


class LimitedVisit(db.Model):
    """A visit of a limited link, on its way to the clicks: what the journal would hold, as it would hold it.

    It is written in the transaction that uses up the click, and deleted once it was taken in.
    """

    # ids never come again: the clicks know these rows by them
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    version: Mapped[str] = mapped_column(String(8))  # of the journal's format
    line: Mapped[bytes] = mapped_column(LargeBinary)
