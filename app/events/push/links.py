"""Which events of the feed are on a handler's links."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.core.database import AnySession
from app.core.encryption import UnreadableSecret
from app.links.models import Link, link_notification_handler
from app.notifications.event_types import WORKSPACE
from app.notifications.models import NotificationHandler
from app.trash.models import Trashed

FeedEvent = Mapping[str, Any]


def link_of(event: FeedEvent) -> int:
    """The id of the link that an event is of."""
    return int(event["data"]["link"]["id"])


def of_handler(
    session: AnySession, handler: NotificationHandler, events: Sequence[FeedEvent]
) -> Sequence[FeedEvent]:
    """The events on links of the handler: on all of its workspace, on its only one, or on those naming it."""
    if handler.link_id is not None:
        return [event for event in events if link_of(event) == handler.link_id]
    if handler.scope == WORKSPACE or not events:
        return events
    named = naming(session, handler.id, {link_of(event) for event in events})
    return [event for event in events if link_of(event) in named]


def naming(session: AnySession, handler_id: int, link_ids: Collection[int]) -> set[int]:
    """Those of the links that name the handler. A link in the trash is looked up there."""
    column = link_notification_handler.c
    wanted = column.notification_handler_id == handler_id, column.link_id.in_(link_ids)
    found = set(session.scalars(select(column.link_id).where(*wanted)))
    there = set(session.scalars(select(Link.id).where(Link.id.in_(link_ids))))
    if gone := set(link_ids) - there:
        trashed = select(Trashed).where(Trashed.kind == Link.__tablename__, Trashed.row_id.in_(gone))
        for one in session.scalars(trashed.options(undefer(Trashed.rows))):
            rows = (
                [] if isinstance(one.rows, UnreadableSecret) else one.rows.get(column.link_id.table.name, [])
            )
            if any(row["notification_handler_id"] == handler_id for row in rows):
                found.add(one.row_id)
    return found
