"""What is a transport given to tell? Plain values: the contract's data for programs, words for people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Table:
    """The most frequent values of one dimension, with their visits."""

    title: str
    rows: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class Section:
    """What there is to tell of one link. `picture` is a PNG of `days`, for those who show pictures."""

    title: str
    url: str
    facts: tuple[tuple[str, str], ...] = ()
    days: tuple[tuple[dt.date, int], ...] = ()
    tables: tuple[Table, ...] = ()
    picture: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message. Every text in it is plain, and may hold what people typed: a transport escapes it.

    `id` is the `webhook-id`, the same on every try, and `data` what the contract says for `type`; `title` is
    one line, `text` a sentence or two. `facts` are labels with values, `url` leads to the dashboard.
    `button`: what is said of `url`; `note`: of a mail, why it was sent.
    `stop_url`: where one POST ends these messages (of mail, `List-Unsubscribe`).
    `language` is that of the words.
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
    button: str = "See it in Waypost"
    note: str = "which keeps this address as a place to be told at."
    language: str = "en"
