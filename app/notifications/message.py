"""The message that a transport delivers: plain values, as data for programs and as text for people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.i18n.messages import lazy_gettext as _l

# why a mail was sent, as its last words
NOTES: Mapping[str, str] = {
    "handler": _l("Sent to %(to)s by Waypost, where this address is set up for notifications."),
    "asked": _l("Sent to %(to)s by Waypost, because a user there asked for it."),
    "account": _l("Sent to %(to)s by Waypost, because it is about your account."),
    "admin": _l("Sent to %(to)s by Waypost, because you are an admin of this instance."),
    "address": _l("Sent to %(to)s by Waypost, because this address was entered there."),
}


@dataclass(frozen=True, kw_only=True)
class BreakdownTable:
    """The most frequent values of one dimension, with their clicks."""

    title: str
    rows: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class Section:
    """The part of a message about one link. `picture` is a PNG of `days`, for transports with pictures."""

    title: str
    url: str
    facts: tuple[tuple[str, str], ...] = ()
    days: tuple[tuple[dt.date, int], ...] = ()
    tables: tuple[BreakdownTable, ...] = ()
    picture: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message. Every text is plain and may contain what an owner typed: the transport escapes it.

    `id` is the `webhook-id`, the same on every attempt; `data` is what the contract says for `type`; `title`
    is one line, `text` a sentence or two. `facts` are labels with values. `url` is a page of the dashboard,
    and `button` its label, if it is not the usual one. `note`: why a mail was sent, a name of NOTES.
    `stop_url`: a POST there ends these messages (of mail, `List-Unsubscribe`).
    `language`: the language of the texts.
    """

    id: str
    type: str
    datetime: dt.datetime
    data: Mapping[str, Any]
    title: str
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    url: str | None = None
    stop_url: str | None = None
    button: str = ""
    note: str = "handler"
    language: str = "en"
