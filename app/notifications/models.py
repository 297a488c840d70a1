"""Whom does an owner have told, by which way, and what became of each message?"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, Text, text, true
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.claims import Claimed, moment
from app.clock import now
from app.database import Id, UtcDateTime
from app.extensions import db
from app.sealing import SealedJson

PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"
WAITING = text("due IS NOT NULL")
CONFIRMATION_WAITING = text("confirmation_due IS NOT NULL")


class NotificationHandler(db.Model):
    """A place to deliver to; `type` is a file of `notifications/transports`, which names its settings."""

    __table_args__ = (
        Index(
            "ix_notification_handler_confirmation_due",
            "confirmation_due",
            sqlite_where=CONFIRMATION_WAITING,
            postgresql_where=CONFIRMATION_WAITING,
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    type: Mapped[str] = mapped_column(String(32))
    name: Mapped[str] = mapped_column(String(128))
    settings: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    is_enabled: Mapped[bool] = mapped_column(default=True)
    # whether the reader of its e-mail address has agreed; true where the type asks nobody
    is_confirmed: Mapped[bool] = mapped_column(default=True, server_default=true())
    # when to write the mail that asks for that, and when the last one was written
    confirmation_due: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    confirmation_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # the first try that failed since the last one that did not
    failing_since: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # why Waypost switched it off by itself, in words; null where the owner did, or it is on
    off_reason: Mapped[str | None] = mapped_column(String(512))
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class Letter(Claimed, db.Model):
    """A mail of Waypost itself, as an invitation, on its way to `email`; `due` is null once that is over.

    `content` is what it says, sealed, and forgotten then. `about` names what it belongs to, `user_id` is who
    caused it, and after `until` it is of no use.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    about: Mapped[str] = mapped_column(String(64), index=True)
    email: Mapped[str] = mapped_column(String(320))
    content: Mapped[dict[str, Any] | None] = mapped_column(SealedJson)
    due: Mapped[dt.datetime | None] = mapped_column(UtcDateTime, index=True)
    tries: Mapped[int] = mapped_column(default=0)
    detail: Mapped[str] = mapped_column(Text, default="")
    until: Mapped[dt.datetime] = mapped_column(UtcDateTime)
    sent_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class Event(db.Model):
    """Something has happened to a link and nobody was told yet: the outbox.

    Written in the transaction that made it happen, one row however many are to be told. The worker turns it
    into deliveries. No foreign key: a visitor's transaction shall not wait for one.
    """

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    type: Mapped[str] = mapped_column(String(48))
    link_id: Mapped[int] = mapped_column(Id)
    # what the contract's data has beside the link
    data: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class Delivery(Claimed, db.Model):
    """One message to one handler, until it has arrived or nobody tries any more.

    `due` is the API's `next_attempt`. `webhook_id` and `data` stay the same on every try.
    """

    __table_args__ = (
        Index("ix_delivery_waiting", "due", sqlite_where=WAITING, postgresql_where=WAITING),
        Index(None, "handler_id", "id"),
        Index(None, "datetime"),
        # a handler that comes back from the trash begins with an empty log
        {"sqlite_autoincrement": True, "info": {"is_trashed": False}},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    handler_id: Mapped[int] = mapped_column(ForeignKey("notification_handler.id", ondelete="CASCADE"))
    type: Mapped[str] = mapped_column(String(48))
    webhook_id: Mapped[str] = mapped_column(String(64), unique=True)
    data: Mapped[dict[str, Any]] = mapped_column(JSON)
    status: Mapped[str] = mapped_column(String(16), default=PENDING)
    # how many of the schedule's tries were made; sent again, it begins anew
    tries: Mapped[int] = mapped_column(default=0)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    handler: Mapped[NotificationHandler] = relationship()
    attempts: Mapped[list[DeliveryAttempt]] = relationship(
        order_by="DeliveryAttempt.id", cascade="all, delete-orphan", passive_deletes=True
    )

    @property
    def next_attempt(self) -> dt.datetime | None:
        return self.due


class Report(db.Model):
    """A period that a user's links were reported on: none is twice, whatever happens."""

    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), primary_key=True)
    period: Mapped[str] = mapped_column(String(16), primary_key=True)
    start_date: Mapped[dt.date] = mapped_column(primary_key=True)


class DeliveryAttempt(db.Model):
    """One try: what came of it in words (`detail`), and what was answered, cut (`answer`)."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    delivery_id: Mapped[int] = mapped_column(ForeignKey("delivery.id", ondelete="CASCADE"), index=True)
    status_code: Mapped[int | None] = mapped_column()
    detail: Mapped[str] = mapped_column(Text)
    answer: Mapped[str] = mapped_column(Text, default="")
    duration_ms: Mapped[int] = mapped_column()
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=moment)
