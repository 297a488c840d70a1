"""Events that owners are notified of, and the texts of their messages.

The code that causes an event calls `raise_event` in its own transaction: either both are stored, or neither.
"""

# see docs/decisions/2026-11-21-what-owners-are-told.md
from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from sqlalchemy import Table, insert
from sqlalchemy.engine import Connection

from app.core import clock
from app.core.database import AnySession
from app.notifications.i18n import digits, said
from app.notifications.message import Message
from app.notifications.models import Event
from app.notifications.site import SiteUrls

LIMIT_REACHED = "link.clicks_limit_reached"
STARTED = "link.started"
ENDED = "link.ended"
FAILING = "link.destination_failing"
RECOVERED = "link.destination_recovered"
TEST = "handler.test"
REPORT = "link.report"

Facts = tuple[tuple[str, str], ...]

# title and text of each type; {name} is the short link as people read it, the rest is the event's data
WORDS: dict[str, tuple[str, str]] = {
    LIMIT_REACHED: ("{name} has reached its click limit", "All {clicks_limit} clicks are used up."),
    STARTED: ("{name} is active now", "Its start date has come."),
    ENDED: ("{name} has ended", "Its end date has come."),
    FAILING: ("The destination of {name} fails", "Three checks in a row have failed: {reason}"),
    RECOVERED: ("The destination of {name} works again", "It failed since {failing_since} UTC."),
    TEST: ("A test from Waypost", "It works: what {handler} is told arrives here."),
}  # fmt: skip

EVENTS = cast("Table", Event.__table__)


def raise_event(
    session: AnySession | Connection, type_: str, link_id: int, moment: dt.datetime | None = None, **data: Any
) -> None:
    """Insert one row into the outbox, in the caller's transaction. `data` joins the link in the message."""
    row = {"type": type_, "link_id": link_id, "data": data, "datetime": moment or clock.now()}
    session.execute(insert(EVENTS), [row])


def compose(id: str, type_: str, datetime: dt.datetime, data: Mapping[str, Any], site: SiteUrls) -> Message:
    """The message of an event (a report's is made by `report`)."""
    named = names(data)
    title, text = (said(words, **named) for words in WORDS[type_])
    return Message(
        id=id,
        type=type_,
        datetime=datetime,
        data=data,
        title=title,
        text=text,
        facts=facts(data),
        url=site.link_page(data["link"]["id"]) if "link" in data else site.handlers_page(),
    )


def names(data: Mapping[str, Any]) -> dict[str, Any]:
    """The values for the placeholders in WORDS."""
    link, handler = data.get("link"), data.get("handler")
    return {
        **data,
        "name": readable(link["short_url"]) if link else "",
        "handler": handler and handler["name"],
    }


def readable(short_url: str) -> str:
    """`https://go.example/caf%C3%A9` → `go.example/café`."""
    parts = urlsplit(short_url)
    return parts.netloc + unquote(parts.path)


def facts(data: Mapping[str, Any]) -> Facts:
    """The link's own data, as labels and values."""
    link = data.get("link")
    if not link:
        return ()
    return (
        (said("Short address"), link["short_url"]),
        (said("Destination"), link["location_url"]),
        (said("Clicks"), digits(link["clicks"])),
    )


def all_types() -> Sequence[str]:
    return [*WORDS, REPORT]
