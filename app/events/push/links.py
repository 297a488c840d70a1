"""Which events of the feed are on a handler's links, and how many clicks of the last day are."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.analytics.periods import QUARTER_MS, QUARTERS
from app.analytics.readers import reader_of
from app.analytics.scope import Scope
from app.core.database import AnySession
from app.core.encryption import UnreadableSecret
from app.links.models import Link, link_notification_handler
from app.notifications.click_filter import ClickFilter
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


MAX_COUNTRIES = 10  # each is a query of its own


def count_matches(
    session: AnySession, workspace_id: int, link_ids: Sequence[int] | None, click_filter: ClickFilter
) -> int | None:
    """The clicks of the last 24 hours on these links (None: all) that pass a filter.

    None where the filter names too many countries to count. Raises StatisticsUnavailable.
    """
    if len(click_filter.countries) > MAX_COUNTRIES:
        return None
    last = int(time.time() * 1000) // QUARTER_MS + 1
    reader, links = reader_of(session), None if link_ids is None else tuple(link_ids)
    wanted: list[Mapping[str, str | None]] = [{"country_code": code} for code in click_filter.countries]
    counts: dict[int, int] = {}
    for filters in wanted or [{}]:
        scope = Scope(workspace_id, links, click_filter.is_bot, filters)
        for link_id, clicks in reader.by_link(scope, last - QUARTERS, last).items():
            counts[link_id] = counts.get(link_id, 0) + clicks
    if click_filter.first:
        return len(counts)
    return sum(clicks // click_filter.every for clicks in counts.values())


def links_naming(session: AnySession, handler_id: int) -> Sequence[int]:
    """The links that name a handler."""
    column = link_notification_handler.c
    return session.scalars(select(column.link_id).where(column.notification_handler_id == handler_id)).all()
