"""Tables for limited links: visits that can't go through the journal, and redeemed tickets."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import Id, UtcDateTime
from app.core.extensions import db


class LimitedVisit(db.Model):
    """A visit of a limited link that waits for ingest, as a line in the journal's format.

    It is written in the transaction that uses up the click, and deleted once it was ingested.
    """

    # ids are never used again: ingest identifies these rows by them
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    version: Mapped[str] = mapped_column(String(8))  # of the journal's format
    line: Mapped[bytes] = mapped_column(LargeBinary)


class RedeemedTicket(db.Model):
    """A signed ticket of a limited link that was redeemed, and can't be redeemed again.

    The row is kept until long after the ticket has expired.
    """

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    expires_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, index=True)
