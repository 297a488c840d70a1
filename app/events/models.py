"""Tables of events: the drafts beside what they tell of, and the entries of the feed beside the clicks."""

# see docs/decisions/2026-11-25-events-feed.md
from __future__ import annotations

import datetime as dt
from typing import Any, cast

from sqlalchemy import JSON, Index, String, Table, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import now
from app.core.database import CLICKS, Id, UtcDateTime
from app.core.extensions import db
from app.core.wakeups import EVENTS, wake_on_insert

OF_LINKS, OF_MOVES = text("link_id IS NOT NULL"), text("url_before IS NOT NULL")


class EventDraft(db.Model):
    """An event that has no place in the feed yet.

    Written in the transaction of the change that it tells of; the sequencer moves it to the feed. `url`,
    `origin` (of its domain, null for none) and `location_url` are the link's. `actor` and `changes` are in
    `data`. `link_id` is 0 of a domain that moved. No foreign key, so that a visitor's transaction need not
    wait for one.
    """

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    event_id: Mapped[str] = mapped_column(String(32))
    workspace_id: Mapped[int] = mapped_column(Id, index=True)
    type: Mapped[str] = mapped_column(String(48))
    link_id: Mapped[int] = mapped_column(Id, index=True)
    url: Mapped[str] = mapped_column(String(1024))
    origin: Mapped[str | None] = mapped_column(String(300))
    location_url: Mapped[str] = mapped_column(Text)
    # the address before the change
    url_before: Mapped[str] = mapped_column(String(1024))
    origin_before: Mapped[str | None] = mapped_column(String(300))
    data: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class EventEntry(db.Model):
    """One place of the feed: an event, or up to `entries.MAX_CLICKS` clicks that were ingested together.

    Whoever adds one holds the counter's row until the commit, so positions are committed in their order.
    `day`: the UTC day on which it got its place.

    Of an event: `content` is its JSON as it is told. Where the link has another address since, or is no
    more, or is back, `url_before` and `origin_before` are the address that it had. (Where a domain has
    another host, they are the new and the old origin.) Of clicks: their ids and times, the ends included, and
    which links they are on, null for many. The clicks themselves are read where statistics read them.
    """

    __table_args__ = (
        Index(None, "workspace_id", "position"),
        Index(None, "workspace_id", "type", "position"),
        Index(
            "ix_event_entry_link_id", "link_id", "position", sqlite_where=OF_LINKS, postgresql_where=OF_LINKS
        ),
        Index(
            "ix_event_entry_moves", "link_id", "position", sqlite_where=OF_MOVES, postgresql_where=OF_MOVES
        ),
        {"schema": CLICKS},
    )

    position: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    workspace_id: Mapped[int] = mapped_column(Id)
    type: Mapped[str] = mapped_column(String(48))
    day: Mapped[int] = mapped_column(Id)

    event_id: Mapped[str | None] = mapped_column(String(32), unique=True)
    link_id: Mapped[int | None] = mapped_column(Id)
    content: Mapped[str | None] = mapped_column(Text)
    url_before: Mapped[str | None] = mapped_column(String(1024))
    origin_before: Mapped[str | None] = mapped_column(String(300))

    clicks: Mapped[int | None] = mapped_column(Id)
    first_id: Mapped[int | None] = mapped_column(Id)
    last_id: Mapped[int | None] = mapped_column(Id)
    first_ms: Mapped[int | None] = mapped_column(Id)
    last_ms: Mapped[int | None] = mapped_column(Id)
    link_ids: Mapped[str | None] = mapped_column(Text)


class EventCounter(db.Model):
    """The last position of the feed, and its horizon: what was below has been removed with its clicks.

    `click_id`: the last id of a click on SQLite, which would give ids of removed rows again. One row.
    """

    __table_args__ = ({"schema": CLICKS},)

    id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(Id, default=0)
    horizon: Mapped[int] = mapped_column(Id, default=0)
    click_id: Mapped[int] = mapped_column(Id, default=0)


wake_on_insert(cast("Table", EventDraft.__table__), EVENTS)
