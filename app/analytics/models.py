"""What is kept of the visits that were counted?

These tables live in `clicks.db` (on PostgreSQL: in the schema `clicks`), which the ingesting process alone
writes. No foreign key leads in or out: a link is known by its id, and ids of links are never used again.
"""

from __future__ import annotations

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database import CLICKS, Id
from app.extensions import db


class Counter(db.Model):
    """How often a link was visited. Narrow, so that a burst on many links rewrites few pages."""

    __table_args__ = ({"schema": CLICKS},)

    link_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    clicks: Mapped[int] = mapped_column(Id)


class Position(db.Model):
    """How much of one source of visits (a segment of the journal, by its name) was taken in so far.

    Both are offsets in bytes, moved by compare-and-swap in the transaction that takes in what lies before
    them: that is what makes a visit count exactly once. Counters are ahead of rows, never behind.
    """

    __table_args__ = ({"schema": CLICKS},)

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    counters_offset: Mapped[int] = mapped_column(Id)
    rows_offset: Mapped[int] = mapped_column(Id)


class Term(db.Model):
    """A text that clicks name by number: most texts come again and again.

    `digest` (64 bits of BLAKE2b) stands for the text in the index, which is smaller so, and PostgreSQL
    indexes no text of 2,048 characters.
    """

    __table_args__ = ({"schema": CLICKS},)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    digest: Mapped[int] = mapped_column(Id, unique=True)
    value: Mapped[str] = mapped_column(Text)


class Click(db.Model):
    """One visit, a person's or a bot's, in the order of arrival. A `…_id` names a `Term`; null is unknown."""

    __table_args__ = (
        Index(None, "link_id", "time_ms"),
        Index(None, "user_id", "time_ms"),
        {"schema": CLICKS},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    time_ms: Mapped[int] = mapped_column(Id)
    link_id: Mapped[int] = mapped_column(Id)
    user_id: Mapped[int] = mapped_column(Id)
    is_bot: Mapped[bool]
    visitor: Mapped[str | None] = mapped_column(String(16))

    bot_name_id: Mapped[int | None] = mapped_column(Id)
    country_code_id: Mapped[int | None] = mapped_column(Id)
    continent_code_id: Mapped[int | None] = mapped_column(Id)
    city_name_id: Mapped[int | None] = mapped_column(Id)
    agent_id: Mapped[int | None] = mapped_column(Id)
    language_id: Mapped[int | None] = mapped_column(Id)
    referrer_host_id: Mapped[int | None] = mapped_column(Id)
    referrer_path_id: Mapped[int | None] = mapped_column(Id)
    utm_source_id: Mapped[int | None] = mapped_column(Id)
    utm_medium_id: Mapped[int | None] = mapped_column(Id)
    utm_campaign_id: Mapped[int | None] = mapped_column(Id)
    destination_id: Mapped[int | None] = mapped_column(Id)


class Taken(db.Model):
    """A visit of a limited link that is in the clicks already, and may still be in the table it came from."""

    __tablename__ = "limited_taken"
    __table_args__ = ({"schema": CLICKS},)

    id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)


class Loss(db.Model):
    """How many lines of the journal could not be taken in, and why. Nothing is lost in silence."""

    __table_args__ = ({"schema": CLICKS},)

    reason: Mapped[str] = mapped_column(String(32), primary_key=True)
    lines: Mapped[int] = mapped_column(Id)
