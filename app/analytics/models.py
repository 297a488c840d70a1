"""Tables of clicks: counters, offsets, interned texts and single clicks.

These tables are in `clicks.db` (on PostgreSQL: in the schema `clicks`), which the ingesting process alone
writes. No foreign key connects them to other tables: a link is named by its id, and ids of links are never
reused.
"""

from __future__ import annotations

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import CLICKS, Id
from app.core.extensions import db


class Counter(db.Model):
    """A link's number of clicks. The row is narrow, so that a burst on many links rewrites few pages."""

    __table_args__ = ({"schema": CLICKS},)

    link_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    clicks: Mapped[int] = mapped_column(Id)


class Position(db.Model):
    """How far one source of clicks (a segment of the journal, by its name) is ingested.

    Both are offsets in bytes, moved by compare-and-swap in the transaction that ingests what lies before
    them. That makes each click count exactly once. Counters are ahead of rows, never behind.
    """

    __table_args__ = ({"schema": CLICKS},)

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    counters_offset: Mapped[int] = mapped_column(Id)
    rows_offset: Mapped[int] = mapped_column(Id)


class FinishedSegment(db.Model):
    """A segment of the journal that was ingested whole, and whose file and offsets are removed.

    A copy of the file may come back from a rescued disk, and must not count again. The row that is named
    `RECORDED_SINCE` stands for no segment: it says since when (`nanoseconds`, as in names) this is recorded.
    """

    __tablename__ = "finished_segment"
    __table_args__ = ({"schema": CLICKS},)

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    nanoseconds: Mapped[int] = mapped_column(Id, index=True)


class Term(db.Model):
    """An interned text, which clicks name by id because most texts recur often.

    `digest` (64 bits of BLAKE2b) replaces the text in the index: that makes it smaller, and PostgreSQL can't
    index a text of 2,048 characters.
    """

    __table_args__ = ({"schema": CLICKS},)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    digest: Mapped[int] = mapped_column(Id, unique=True)
    value: Mapped[str] = mapped_column(Text)


class Click(db.Model):
    """One click, human or bot, in the order of arrival. A `…_id` names a `Term`; null is unknown.

    PostgreSQL keeps them in a partition for each month (partitions.py). Its primary key is `id`, `time_ms`:
    a key contains what its table is partitioned by. Ids come from one sequence, so they are unique alone.
    """

    __table_args__ = (
        Index(None, "link_id", "time_ms"),
        Index(None, "workspace_id", "time_ms"),
        {"schema": CLICKS},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    time_ms: Mapped[int] = mapped_column(Id)
    link_id: Mapped[int] = mapped_column(Id)
    # the id of the workspace, here and in the roll-ups: the name is from when links belonged to users, and
    # another one would rewrite each of them (docs/decisions/2026-11-25-workspaces.md)
    workspace_id: Mapped[int] = mapped_column(Id)
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


class IngestedLimitedClick(db.Model):
    """A click on a limited link that is ingested already, and may still be in its source table."""

    __tablename__ = "limited_taken"
    __table_args__ = ({"schema": CLICKS},)

    id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)


class Loss(db.Model):
    """How many lines of the journal could not be ingested, and why. No loss is silent."""

    __table_args__ = ({"schema": CLICKS},)

    reason: Mapped[str] = mapped_column(String(32), primary_key=True)
    lines: Mapped[int] = mapped_column(Id)
