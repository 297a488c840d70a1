"""Mails from Waypost itself, such as invitations and password resets.

A mail is stored in the transaction of its cause, and the outbox delivers it: no request waits for a mail
server. Its content is encrypted, because it may contain a one-time link, and deleted once it was sent or
given up. (docs/decisions/2026-11-23-one-outbox.md)
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass

from sqlalchemy import delete, func, select

from app.accounts.models import User
from app.core.clock import now
from app.core.database import AnySession
from app.core.leases import precise_now
from app.notifications.message import Message
from app.notifications.models import Delivery, SystemEmail
from app.notifications.outbox import new_webhook_id

TYPE = "letter"  # of its deliveries
MAX_A_DAY = 5
MAX_OF_USER = 20  # a day, to all addresses that are not verified


@dataclass(frozen=True, kw_only=True)
class Content:
    """The content of a mail, in `language`. `url` is what its button opens, `note` why it was sent."""

    title: str
    text: str
    url: str | None = None
    button: str = ""
    note: str = "asked"
    language: str = "en"


def enqueue(
    session: AnySession, user_id: int, about: str, email: str, content: Content, until: dt.datetime
) -> SystemEmail:
    """Store a mail to be sent as soon as possible, and not after `until`. `about` is for `withdraw`."""
    row = SystemEmail(user_id=user_id, about=about, email=email, content=asdict(content), until=until)
    row.delivery = Delivery(type=TYPE, webhook_id=new_webhook_id(), data={}, due=precise_now())
    session.add(row)
    session.flush()
    return row


def has_enough(session: AnySession, email: str) -> bool:
    """Whether an address got `MAX_A_DAY` mails in the last day. For addresses that are not verified."""
    is_theirs = func.lower(SystemEmail.email) == email.lower(), SystemEmail.datetime > a_day_ago()
    return session.scalars(select(func.count()).select_from(SystemEmail).where(*is_theirs)).one() >= MAX_A_DAY


def has_sent_enough(session: AnySession, user: User) -> bool:
    """Whether a user's account caused `MAX_OF_USER` mails to addresses other than its own in the last day."""
    others = SystemEmail.user_id == user.id, SystemEmail.email != (user.verified_email or "")
    lately = select(func.count()).select_from(SystemEmail).where(*others)
    return session.scalars(lately.where(SystemEmail.datetime > a_day_ago())).one() >= MAX_OF_USER


def a_day_ago() -> dt.datetime:
    return now() - dt.timedelta(days=1)


def withdraw(session: AnySession, about: str) -> None:
    """Delete the mails about this that were not sent yet."""
    waiting = select(Delivery.letter_id).where(Delivery.due.is_not(None), Delivery.letter_id.is_not(None))
    session.execute(delete(SystemEmail).where(SystemEmail.about == about, SystemEmail.id.in_(waiting)))


def message_of(row: SystemEmail, id_: str) -> Message:
    content = Content(**(row.content or {"title": "Waypost", "text": ""}))
    return Message(
        id=id_,
        type=TYPE,
        datetime=row.datetime,
        data={},
        title=content.title,
        text=content.text,
        url=content.url,
        button=content.button,
        note=content.note,
        language=content.language,
    )
