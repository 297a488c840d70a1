"""Composing of messages, whichever module has the texts of a type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from app.notifications import events, feed_words, report
from app.notifications.message import Message
from app.notifications.site import SiteUrls


class Compose(Protocol):
    """Makes the message of a delivery from its stored values."""

    def __call__(
        self, id: str, type_: str, datetime: dt.datetime, data: Mapping[str, Any], site: SiteUrls, /
    ) -> Message: ...


def composer_of(type_: str) -> Compose:
    """What composes messages of a type."""
    if type_ == events.REPORT:
        return report.compose
    return feed_words.compose if type_ in feed_words.FEED_WORDS else events.compose


def all_types() -> Sequence[str]:
    """Every type of message that a handler may get."""
    return [*events.WORDS, events.REPORT, *feed_words.FEED_WORDS]
