"""Drafts of events, written in the transaction of what they tell of: either both are stored, or neither.

The sequencer gives them their places in the feed. Nothing else may be told of a change than what is here.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import JSON, BigInteger, String, Table, column, insert, literal, select, table
from sqlalchemy.engine import Connection

from app.core import clock
from app.core.actor import Actor, acting
from app.core.database import AnySession, UtcDateTime
from app.events.models import EventDraft
from app.events.types import MOVED, PURGED

DRAFTS = cast("Table", EventDraft.__table__)
INSERT = insert(DRAFTS)
# packages above this one keep these tables, so only their names are known here
LINKS = table(
    "link",
    column("id", BigInteger),
    column("workspace_id", BigInteger),
    column("domain_id", BigInteger),
    column("url", String),
    column("location_url", String),
)
DOMAINS = table("domain", column("id", BigInteger), column("scheme", String), column("host", String))
ORIGIN = (DOMAINS.c.scheme + DOMAINS.c.host).label("origin")
NO_LINK = 0  # no link has this id
# who made a change, by an actor's `way`; every other way is a user's
ACTOR_TYPES = {"": "system", "command": "operator", "api": "key"}


class LinkAddress(NamedTuple):
    """The alias of a link, and the scheme and host of its domain; None for the instance's own."""

    url: str
    origin: str | None


class LinkEvent(NamedTuple):
    """One event of one link. `before`: its address before what happened."""

    type: str
    workspace_id: int
    link_id: int
    address: LinkAddress
    before: LinkAddress
    location_url: str
    data: Mapping[str, Any]


def record(session: AnySession, events: Sequence[LinkEvent]) -> None:
    """Records events that happen now, by the current actor."""
    if events:
        actor, moment = describe_actor(acting(session)), clock.now()
        session.connection().execute(INSERT, [row_of(event, actor, moment) for event in events])


def row_of(event: LinkEvent, actor: Mapping[str, Any], moment: dt.datetime) -> dict[str, Any]:
    return {
        "event_id": new_event_id(),
        "workspace_id": event.workspace_id,
        "type": event.type,
        "link_id": event.link_id,
        "url": event.address.url,
        "origin": event.address.origin,
        "location_url": event.location_url,
        "url_before": event.before.url,
        "origin_before": event.before.origin,
        "data": {"actor": actor, **event.data},
        "datetime": moment,
    }


def record_of_link(
    session: AnySession | Connection, type_: str, link_id: int, moment: dt.datetime, data: Mapping[str, Any]
) -> None:
    """Records an event of a link that exists, by one statement that reads its address."""
    link = LINKS.outerjoin(DOMAINS, DOMAINS.c.id == LINKS.c.domain_id)
    facts = {
        "event_id": literal(new_event_id()),
        "workspace_id": LINKS.c.workspace_id,
        "type": literal(type_),
        "link_id": LINKS.c.id,
        "url": LINKS.c.url,
        "origin": ORIGIN,
        "location_url": LINKS.c.location_url,
        "url_before": LINKS.c.url,
        "origin_before": ORIGIN,
        "data": literal(dict(data), JSON),
        "datetime": literal(moment, UtcDateTime),
    }
    found = select(*facts.values()).select_from(link).where(LINKS.c.id == link_id)
    session.execute(INSERT.from_select([*facts], found))


def record_purge(session: AnySession, links: Iterable[tuple[int, int]]) -> None:
    """Has the feed forget the changes of links, given as workspace and id, that are gone for good."""
    rows = [blank_row(workspace_id, PURGED, link_id) for workspace_id, link_id in links]
    if rows:
        session.connection().execute(INSERT, rows)


def record_move(session: AnySession, workspace_id: int, before: str, after: str) -> None:
    """Records that a domain has another scheme or host: clicks that came before are told with the old one."""
    row = blank_row(workspace_id, MOVED, NO_LINK)
    session.connection().execute(INSERT, [row | {"origin_before": before, "origin": after}])


def blank_row(workspace_id: int, type_: str, link_id: int) -> dict[str, Any]:
    nowhere = LinkAddress("", None)
    return row_of(LinkEvent(type_, workspace_id, link_id, nowhere, nowhere, "", {}), {}, clock.now())


def describe_actor(actor: Actor) -> dict[str, Any]:
    """Who made a change, as it is told: a user, an API key with its user, the operator, or the system."""
    return {
        "type": ACTOR_TYPES.get(actor.way, "user"),
        "id": actor.user_id,
        "name": actor.name or None,
        "via": actor.way or None,
    }


def new_event_id() -> str:
    return f"evt_{secrets.token_hex(12)}"
