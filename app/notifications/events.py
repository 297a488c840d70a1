"""Events that owners are notified of, and the texts of their messages.

The code that causes an event calls its function here in its own transaction: both are stored,
or neither.
"""

# see docs/decisions/2026-11-21-what-owners-are-told.md
from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, cast

from sqlalchemy import Table, insert
from sqlalchemy.engine import Connection

from app.core import clock
from app.core.clock import format_utc
from app.core.database import AnySession
from app.events.drafts import record_of_link
from app.events.types import ENDED as ENDED
from app.events.types import FAILING as FAILING
from app.events.types import LIMIT_REACHED as LIMIT_REACHED
from app.events.types import RECOVERED as RECOVERED
from app.events.types import STARTED as STARTED
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import ngettext
from app.notifications.message import Message
from app.notifications.models import Event
from app.notifications.site import SiteUrls, readable

TEST = "handler.test"
REPORT = "link.report"

Facts = tuple[tuple[str, str], ...]

# title and text of each type, for the short link as people read it and for the event's data
WORDS: dict[str, Callable[[str, Mapping[str, Any]], tuple[str, str]]] = {
    LIMIT_REACHED: lambda name, data: (
        _("%(name)s has reached its click limit", name=name),
        ngettext(
            "The only click is used up.",
            "All %(clicks_limit)s clicks are used up.",
            data["clicks_limit"],
            clicks_limit=digits(data["clicks_limit"]),
        ),
    ),
    STARTED: lambda name, data: (  # noqa: ARG005
        _("%(name)s is active now", name=name),
        _("Its start date has come."),
    ),
    ENDED: lambda name, data: (  # noqa: ARG005
        _("%(name)s has ended", name=name),
        _("Its end date has come."),
    ),
    FAILING: lambda name, data: (
        _("The destination of %(name)s fails", name=name),
        _("Three checks in a row have failed: %(reason)s", reason=data["reason"]),
    ),
    RECOVERED: lambda name, data: (
        _("The destination of %(name)s works again", name=name),
        _("It failed since %(failing_since)s UTC.", failing_since=data["failing_since"]),
    ),
    TEST: lambda name, data: (  # noqa: ARG005
        _("A test from Waypost"),
        _("It works: notifications to %(handler)s arrive here.", handler=data["handler"]["name"]),
    ),
}

EVENTS = cast("Table", Event.__table__)


def raise_limit_reached(session: AnySession | Connection, link_id: int, *, clicks_limit: int) -> None:
    """Tell that the last click a link's limit allows was taken."""
    raise_event(session, LIMIT_REACHED, link_id, {"clicks_limit": clicks_limit})


def raise_started(session: AnySession, link_id: int, *, start_date: dt.datetime) -> None:
    """Tell, as of that moment, that the start date of a link has come."""
    raise_event(session, STARTED, link_id, {"start_date": format_utc(start_date)}, start_date)


def raise_ended(session: AnySession, link_id: int, *, end_date: dt.datetime) -> None:
    """Tell, as of that moment, that the end date of a link has come."""
    raise_event(session, ENDED, link_id, {"end_date": format_utc(end_date)}, end_date)


def raise_failing(session: AnySession, link_id: int, *, reason: str) -> None:
    """Tell that checks of a link's destination fail for this reason."""
    raise_event(session, FAILING, link_id, {"reason": reason})


def raise_recovered(session: AnySession, link_id: int, *, failing_since: dt.datetime) -> None:
    """Tell that a destination works again that had failed since that moment."""
    raise_event(session, RECOVERED, link_id, {"failing_since": format_utc(failing_since)})


def raise_event(
    session: AnySession | Connection,
    type_: str,
    link_id: int,
    data: Mapping[str, Any],
    moment: dt.datetime | None = None,
) -> None:
    """Insert one row into the outbox, and one for the feed, in the caller's transaction. `data` joins the
    link in both."""
    moment = moment or clock.now()
    row = {"type": type_, "link_id": link_id, "data": data, "datetime": moment}
    session.execute(insert(EVENTS), [row])
    record_of_link(session, type_, link_id, moment, data)


def compose(id: str, type_: str, datetime: dt.datetime, data: Mapping[str, Any], site: SiteUrls) -> Message:
    """The message of an event (a report's is made by `report`)."""
    title, text = WORDS[type_](readable(data["link"]["short_url"]) if "link" in data else "", data)
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


def facts(data: Mapping[str, Any]) -> Facts:
    """The link's own data, as labels and values."""
    link = data.get("link")
    if not link:
        return ()
    return (
        (_("Short link"), link["short_url"]),
        (_("Destination"), link["location_url"]),
        (_("Clicks"), digits(link["clicks"])),
    )
