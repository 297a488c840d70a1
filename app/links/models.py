"""Tables of links: their aliases, tags, destination checks, limit counters and history."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    false,
    inspect,
    text,
)
from sqlalchemy.orm import InstanceState, Mapped, mapped_column, relationship

from app.core.clock import now
from app.core.database import Base, Id, MessageText, PersonalRow, UtcDateTime
from app.core.encryption import SealedJson
from app.core.extensions import db
from app.core.leases import Claimed
from app.domains.models import Domain
from app.links.search_text import SEARCHED, folded, folded_notes, folded_notes_of_row, folded_of_row
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project

link_pixel = Table(
    "link_pixel",
    Base.metadata,
    Column("link_id", ForeignKey("link.id", ondelete="CASCADE"), primary_key=True),
    Column("pixel_id", ForeignKey("pixel.id", ondelete="CASCADE"), primary_key=True, index=True),
)
TO_HANDLER = ForeignKey("notification_handler.id", ondelete="CASCADE")
link_notification_handler = Table(
    "link_notification_handler",
    Base.metadata,
    Column("link_id", ForeignKey("link.id", ondelete="CASCADE"), primary_key=True),
    Column("notification_handler_id", TO_HANDLER, primary_key=True, index=True),
)


LONGEST_REASON = 512


# what lists filter by, of which a link has a few bytes. It follows the value of each order in its index, so
# that a page is found, and what a filter finds is counted, without reading the links:
# docs/decisions/2026-11-29-lists-by-plain-sql.md
FILTERED = (
    *("is_enabled", "project_id", "domain_id", "targeting_type", "schedule", "start_date", "end_date"),
    *("clicks_limit", "clicks_limit_confirmation_is_enabled", "sensitive_content"),
    *("app_linking_is_enabled", "cloaking_is_enabled"),
)
NULLS_FIRST = {"last_datetime": "NULLS FIRST"}  # as lists have them; SQLite always does
PASSWORD = text("password_hash IS NOT NULL")
BATCHED = text("batch IS NOT NULL")
STARTS, ENDS = text("start_due IS NOT NULL"), text("end_due IS NOT NULL")


class Link(db.Model):
    """A short link and all its settings. Columns have the contract's names."""

    __table_args__ = (
        Index("ix_link_by_url", "workspace_id", "url", "id", *FILTERED, "datetime"),
        Index("ix_link_by_datetime", "workspace_id", "datetime", "id", *FILTERED),
        Index(
            "ix_link_by_last_datetime",
            *("workspace_id", "last_datetime", "id", *FILTERED, "datetime"),
            postgresql_ops=NULLS_FIRST,
        ),
        Index("ix_link_by_id", "workspace_id", "id", *FILTERED, "datetime"),
        Index("ix_link_password", "workspace_id", "id", sqlite_where=PASSWORD, postgresql_where=PASSWORD),
        Index("ix_link_start_due", "start_due", sqlite_where=STARTS, postgresql_where=STARTS),
        Index("ix_link_end_due", "end_due", sqlite_where=ENDS, postgresql_where=ENDS),
        {"sqlite_autoincrement": True},  # an id is never used again: clicks.db knows links by it alone
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    project_id: Mapped[int | None] = mapped_column(ForeignKey("project.id", ondelete="SET NULL"), index=True)
    # null in the database where the API says 0
    domain_id: Mapped[int | None] = mapped_column(ForeignKey("domain.id"), index=True)
    type: Mapped[str] = mapped_column(String(16), default="link")
    # as typed: up to 256 characters in NFC may be four times as many before
    url: Mapped[str] = mapped_column(String(1024))
    location_url: Mapped[str] = mapped_column(Text)
    is_enabled: Mapped[bool] = mapped_column(default=True)
    title: Mapped[str | None] = mapped_column(String(160))
    # `folded` of the three searched columns; computed when one changes, so never set by hand
    search_text: Mapped[str] = mapped_column(
        Text, default=folded_of_row, server_default="", deferred=True, info={"is_trashed": False}
    )
    notes: Mapped[str | None] = mapped_column(Text)
    # `folded` of the notes and the tags, for the dashboard's search; computed like `search_text`
    search_notes: Mapped[str | None] = mapped_column(Text, default=folded_notes_of_row, deferred=True)

    schedule: Mapped[bool] = mapped_column(default=False)
    start_date: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    end_date: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # copies of the same two while they are in the future; cleared once their event was raised
    start_due: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    end_due: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    clicks_limit: Mapped[int | None] = mapped_column()
    # a limited link asks for a tap: that uses up the click, and not the GET before it
    clicks_limit_confirmation_is_enabled: Mapped[bool] = mapped_column(default=False, server_default=false())
    expiration_url: Mapped[str | None] = mapped_column(Text)

    password_hash: Mapped[str | None] = mapped_column(String(255))
    # incremented with each new password: what the old one unlocked is locked again
    password_version: Mapped[int] = mapped_column(default=0)
    sensitive_content: Mapped[bool] = mapped_column(default=False)

    http_status_code: Mapped[int] = mapped_column(default=302)
    app_linking_is_enabled: Mapped[bool] = mapped_column(default=False)
    cloaking_is_enabled: Mapped[bool] = mapped_column(default=False)
    cloaking_title: Mapped[str | None] = mapped_column(String(160))
    cloaking_meta_description: Mapped[str | None] = mapped_column(String(320))
    cloaking_custom_js: Mapped[str | None] = mapped_column(Text)
    # names of files under DATA_DIR/uploads
    cloaking_favicon: Mapped[str | None] = mapped_column(String(64))
    cloaking_opengraph: Mapped[str | None] = mapped_column(String(64))

    forward_query_parameters_is_enabled: Mapped[bool] = mapped_column(default=False)
    utm_source: Mapped[str | None] = mapped_column(String(256))
    utm_medium: Mapped[str | None] = mapped_column(String(256))
    utm_campaign: Mapped[str | None] = mapped_column(String(256))

    targeting_type: Mapped[str | None] = mapped_column(String(32))
    # [[key, value], …] in the owner's order: the first that matches wins
    targeting: Mapped[list[list[str]]] = mapped_column(JSON, default=list)

    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    project: Mapped[Project | None] = relationship()
    domain: Mapped[Domain | None] = relationship()
    pixels: Mapped[list[Pixel]] = relationship(secondary=link_pixel, order_by=Pixel.id, passive_deletes=True)
    handlers: Mapped[list[NotificationHandler]] = relationship(
        secondary=link_notification_handler, order_by=NotificationHandler.id, passive_deletes=True
    )
    tag_rows: Mapped[list[LinkTag]] = relationship(cascade="all, delete-orphan", order_by="LinkTag.position")


@event.listens_for(Link, "before_insert")
@event.listens_for(Link, "before_update")
def fold(_mapper: object, _connection: object, link: Link) -> None:
    state: InstanceState[Link] = inspect(link)
    if any(state.attrs[name].history.has_changes() for name in SEARCHED):
        link.search_text = folded(*(getattr(link, name) for name in SEARCHED))
    if any(state.attrs[name].history.has_changes() for name in ("notes", "tag_rows")):
        link.search_notes = folded_notes(link.notes, (row.tag for row in link.tag_rows))


class LinkTag(db.Model):
    """One tag of one link; tags are the owner's own words."""

    link_id: Mapped[int] = mapped_column(ForeignKey("link.id", ondelete="CASCADE"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(32), primary_key=True, index=True)
    position: Mapped[int] = mapped_column(Integer)


class Alias(db.Model):
    """The holder of an alias on a domain: a link, or for 30 days the owner of the link that had it.

    The primary key makes an alias unique, also under concurrent writes. `domain_id` is 0 for none.
    """

    domain_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    key: Mapped[str] = mapped_column(String(1024), primary_key=True)
    link_id: Mapped[int | None] = mapped_column(ForeignKey("link.id", ondelete="SET NULL"), unique=True)
    workspace_id: Mapped[int] = mapped_column(Id, index=True)
    held_until: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)


class DestinationCheck(Claimed, db.Model):
    """The latest checks of a link's destination. Only links whose owner wants checks have a row."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    link_id: Mapped[int] = mapped_column(ForeignKey("link.id", ondelete="CASCADE"), unique=True)
    # the destination that is checked; another one begins anew
    url: Mapped[str] = mapped_column(Text)
    failures: Mapped[int] = mapped_column(default=0)  # in a row
    failing_since: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)  # set once the owner was notified
    # what was wrong at the last check, and when that was
    reason: Mapped[str | None] = mapped_column(MessageText(LONGEST_REASON))
    checked_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)


IS_WAITING = text("due IS NOT NULL")


class Favicon(Claimed, db.Model):
    """The icon of a site that an owner's links lead to, and the work of fetching it.

    `site` is the scheme and host of a destination. `due` is null once the icon is there, or given up.
    """

    __table_args__ = (
        UniqueConstraint("workspace_id", "site"),
        Index("ix_favicon_due", "due", sqlite_where=IS_WAITING, postgresql_where=IS_WAITING),
        {"sqlite_autoincrement": True},  # browsers keep an icon by its id
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    site: Mapped[str] = mapped_column(String(300))
    tries: Mapped[int] = mapped_column(default=0)
    # a PNG of 32 by 32 pixels at most, and the beginning of its SHA-256; null while there is none
    content: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    digest: Mapped[str | None] = mapped_column(String(16))
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)  # of the last answer


class LimitCounter(db.Model):
    """The number of visits that a link let through while it had a limit. (Others: the journal's counter.)"""

    link_id: Mapped[int] = mapped_column(
        ForeignKey("link.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    clicks: Mapped[int] = mapped_column(Id)


# the clicks by which lists order a link: a copy, which the worker keeps (`app/links/clicks.py`), beside
# copies of what lists filter by, so that a list in this order reads one index. Triggers copy those
LINK_COLUMNS = Link.__table__.c
link_clicks = Table(
    "link_clicks",
    Base.metadata,
    Column("link_id", ForeignKey("link.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("workspace_id", Id, nullable=False),
    Column("clicks", Id, nullable=False),
    *(
        Column(name, LINK_COLUMNS[name].type, nullable=LINK_COLUMNS[name].nullable)
        for name in (*FILTERED, "datetime")
    ),
    Index("ix_link_clicks_by_clicks", "workspace_id", "clicks", "link_id", *FILTERED, "datetime"),
    info={"is_trashed": False, "transient": True},
)


class LinkChange(db.Model):
    """One change of one link: its actor (`who`: the `name`, `person`: the e-mail address), and `fields`:
    attribute → [before, after]. There is no foreign key, so a link in the trash keeps its history.
    """

    __table_args__ = (
        Index(None, "link_id", "id"),
        Index("ix_link_change_batch", "batch", "link_id", sqlite_where=BATCHED, postgresql_where=BATCHED),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    link_id: Mapped[int] = mapped_column(Id)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))  # created changed reverted deleted restored sample
    way: Mapped[str] = mapped_column(String(16), default="")
    who: Mapped[str] = mapped_column(String(128), default="")
    person: Mapped[str] = mapped_column(String(320), default="", server_default="")
    batch: Mapped[str | None] = mapped_column(String(32))  # the same for changes that are undone as one
    # encrypted: it holds password hashes, and other values that owners removed for a reason
    fields: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class SavedView(PersonalRow, db.Model):
    """What a list of links shows (search, filters, sort, columns), under a name of its owner.

    `key`: the name without regard to case. `query`: the parameters of the list, as its address has them.
    """

    __table_args__ = (UniqueConstraint("workspace_id", "user_id", "key"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(64))
    key: Mapped[str] = mapped_column(String(256))
    query: Mapped[str] = mapped_column(Text)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class PlanChange(db.Model):
    """A change of something that compiled links are made of. Every process drops the compiled links it names.

    `domain_id` null: everything. `alias` null: the whole domain (0 is the instance's own hosts).
    """

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    domain_id: Mapped[int | None] = mapped_column(Id)
    alias: Mapped[str | None] = mapped_column(String(1024))
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
