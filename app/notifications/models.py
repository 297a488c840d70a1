"""Tables of notifications: handlers, events, deliveries with their attempts, reports, and own mails."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, Text, text, true
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.clock import now
from app.core.database import Id, LongMessageText, MessageText, UtcDateTime
from app.core.encryption import SealedJson
from app.core.extensions import db
from app.core.leases import Claimed, precise_now

PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"
WAITING = text("due IS NOT NULL")
CONFIRMATION_WAITING = text("confirmation_due IS NOT NULL")


class NotificationHandler(db.Model):
    """An address to deliver to; `type` is a file of `notifications/transports`, which names its settings."""

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
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    type: Mapped[str] = mapped_column(String(32))
    name: Mapped[str] = mapped_column(String(128))
    settings: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    is_enabled: Mapped[bool] = mapped_column(default=True)
    # types of events, null for the default ones; of which links; and which clicks, null for people's
    events: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    scope: Mapped[str] = mapped_column(String(16), default="attached", server_default="attached")
    click_filter: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # the only link of a subscription, which no link names in its `email_reports`
    link_id: Mapped[int | None] = mapped_column(Id)
    # the API key that made a subscription, which ends with it; null where it is not known
    api_key_id: Mapped[int | None] = mapped_column(Id)
    # whether the recipient at its e-mail address has agreed; true where the type needs no confirmation
    is_confirmed: Mapped[bool] = mapped_column(default=True, server_default=true())
    # when to write the mail that asks for that, and when the last one was written
    confirmation_due: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    confirmation_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # the first failed attempt since the last successful one
    failing_since: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # why Waypost switched it off by itself, in words; null where the owner did, or where it is on
    off_reason: Mapped[str | None] = mapped_column(MessageText(512))
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class EventCursor(Claimed, db.Model):
    """How far a handler's events are turned into deliveries: the place in its workspace's feed.

    It is there while the handler is told of events of the feed. `due`: when the next page may be read.
    `summary`: what a message to people will sum up, from the pages that were read since the last one.
    `skipped`: what was too old to be told, until a message says so.
    """

    __table_args__ = (
        Index("ix_event_cursor_waiting", "due", sqlite_where=WAITING, postgresql_where=WAITING),
        {"info": {"is_trashed": False}},
    )

    id: Mapped[int] = mapped_column(
        ForeignKey("notification_handler.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    cursor: Mapped[str] = mapped_column(String(64))
    summary: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    skipped: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class ClickNumber(db.Model):
    """How many clicks of a link have passed a handler's filter, where that decides which it is told of.

    Its primary key prevents a second "first click". It has no foreign key to the link, whose trash would
    take it along.
    """

    __table_args__ = ({"info": {"is_trashed": False}},)

    handler_id: Mapped[int] = mapped_column(
        ForeignKey("notification_handler.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    link_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(Id)


class SystemEmail(db.Model):
    """A mail from Waypost itself to `email`, such as an invitation. Its delivery says how far it is.

    `content` is what it says, encrypted, and emptied once it is sent or given up. `about` names what it
    belongs to, `user_id` is who caused it. It is not sent after `until`.
    """

    __tablename__ = "letter"

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    about: Mapped[str] = mapped_column(String(64), index=True)
    email: Mapped[str] = mapped_column(String(320))
    content: Mapped[dict[str, Any] | None] = mapped_column(SealedJson)
    until: Mapped[dt.datetime] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    delivery: Mapped[Delivery] = relationship(back_populates="system_email", passive_deletes=True)

    @property
    def due(self) -> dt.datetime | None:
        return self.delivery.due

    @property
    def tries(self) -> int:
        return self.delivery.tries

    @property
    def detail(self) -> str:
        """The result of the last attempt in words."""
        return self.delivery.attempts[-1].detail if self.delivery.attempts else ""

    @property
    def sent_datetime(self) -> dt.datetime | None:
        return self.delivery.attempts[-1].datetime if self.delivery.status == DELIVERED else None


class Event(db.Model):
    """An event of a link for which there are no deliveries yet.

    Written in the transaction that caused the event, one row for any number of handlers. The worker turns it
    into deliveries. It has no foreign key, so that a visitor's transaction need not wait for one.
    """

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    type: Mapped[str] = mapped_column(String(48))
    link_id: Mapped[int] = mapped_column(Id)
    # what the contract's data has beside the link
    data: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class Delivery(Claimed, db.Model):
    """The outbox: one message to one handler, or a mail from Waypost itself, and how far its delivery is.

    `due` is the API's `next_attempt`. `webhook_id` and `data` stay the same on every attempt. One of
    `handler_id` and `letter_id` is null.
    """

    __table_args__ = (
        Index("ix_delivery_waiting", "due", sqlite_where=WAITING, postgresql_where=WAITING),
        Index(None, "handler_id", "id"),
        Index(None, "datetime"),
        # a restored handler begins with an empty log
        {"sqlite_autoincrement": True, "info": {"is_trashed": False}},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    handler_id: Mapped[int | None] = mapped_column(ForeignKey("notification_handler.id", ondelete="CASCADE"))
    letter_id: Mapped[int | None] = mapped_column(ForeignKey("letter.id", ondelete="CASCADE"), index=True)
    type: Mapped[str] = mapped_column(String(48))
    webhook_id: Mapped[str] = mapped_column(String(64), unique=True)
    data: Mapped[dict[str, Any]] = mapped_column(JSON)
    status: Mapped[str] = mapped_column(String(16), default=PENDING)
    # how many attempts of the schedule were made; 0 again when the owner has it sent again
    tries: Mapped[int] = mapped_column(default=0)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    # each of these only where its id is there
    handler: Mapped[NotificationHandler] = relationship()
    system_email: Mapped[SystemEmail] = relationship(back_populates="delivery")
    attempts: Mapped[list[DeliveryAttempt]] = relationship(
        order_by="DeliveryAttempt.id", cascade="all, delete-orphan", passive_deletes=True
    )

    @property
    def next_attempt(self) -> dt.datetime | None:
        return self.due


class Report(db.Model):
    """A period that a user's links were reported on. Its primary key prevents a second report."""

    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), primary_key=True)
    period: Mapped[str] = mapped_column(String(16), primary_key=True)
    start_date: Mapped[dt.date] = mapped_column(primary_key=True)


class DeliveryAttempt(db.Model):
    """One attempt: its result in words (`detail`), and the beginning of the server's answer (`answer`)."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    delivery_id: Mapped[int] = mapped_column(ForeignKey("delivery.id", ondelete="CASCADE"), index=True)
    status_code: Mapped[int | None] = mapped_column()
    detail: Mapped[str] = mapped_column(LongMessageText)
    answer: Mapped[str] = mapped_column(Text, default="")
    duration_ms: Mapped[int] = mapped_column()
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=precise_now)
