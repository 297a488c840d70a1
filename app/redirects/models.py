"""What is kept of a visit that can't go through the journal?"""

from __future__ import annotations

import datetime as dt

from sqlalchemy import LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.database import Id, UtcDateTime
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


class RedeemedTicket(db.Model):
    """A signed ticket of a limited link that has led its visitor on, and leads nobody on again.

    The row is kept until long after the ticket's own time is over.
    """

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    expires_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, index=True)
