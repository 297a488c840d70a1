"""Dispatch of link events: turns the events in the outbox into deliveries to the link's handlers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, joinedload

from app.accounts.models import Workspace
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.links.clicks import clicks_of
from app.links.models import Link, link_notification_handler
from app.notifications.models import Event, NotificationHandler
from app.notifications.outbox import deliver
from app.notifications.site import SiteUrls

BATCH_SIZE = 200

errors = ErrorBoundary("events")


def tell(session: Session, site: SiteUrls) -> bool:
    """Turn the waiting events into deliveries, each event once. Returns whether there were any."""
    wanted = select(Event.id).where(Event.id.not_in(errors.backed_off(int)))
    ids = session.scalars(wanted.order_by(Event.id).limit(BATCH_SIZE)).all()
    errors.each(ids, lambda some: tell_some(session, some, site))
    session.rollback()
    return bool(ids)


def tell_some(session: Session, ids: Sequence[int], site: SiteUrls) -> None:
    """Take these events out of the outbox and write their deliveries. Only one of two workers gets a row."""
    begin_write(session)
    found = session.execute(
        delete(Event)
        .where(Event.id.in_(ids))
        .returning(Event.id, Event.type, Event.link_id, Event.data, Event.datetime)
    ).all()
    links = described(session, {event.link_id for event in found}, site)
    handlers = handlers_of(session, links)
    for event in sorted(found, key=lambda event: event.id):
        for handler_id in handlers.get(event.link_id, ()):
            data = {"link": links[event.link_id], **event.data}
            deliver(session, handler_id, event.type, data, event.datetime)
    session.commit()


def described(session: Session, ids: Collection[int], site: SiteUrls) -> dict[int, dict[str, Any]]:
    """The data of each link for messages. Links that were deleted meanwhile are left out."""
    rows = session.scalars(select(Link).where(Link.id.in_(ids)).options(joinedload(Link.domain))).all()
    clicks = clicks_of([row.id for row in rows], session)
    return {row.id: link_data(row, clicks[row.id], site) for row in rows}


def link_data(link: Link, clicks: int, site: SiteUrls) -> dict[str, Any]:
    """The object `data.link` of the contract."""
    domain = f"{link.domain.scheme}{link.domain.host}" if link.domain else None
    return {
        "id": link.id,
        "url": link.url,
        "short_url": site.short_url(link.url, domain),
        "location_url": link.location_url,
        "clicks": clicks,
    }


def handlers_of(session: Session, ids: Collection[int]) -> dict[int, Sequence[int]]:
    """The ids of each link's enabled handlers, without those of deleted workspaces."""
    table = link_notification_handler
    rows = (
        select(table.c.link_id, NotificationHandler.id)
        .join(NotificationHandler, NotificationHandler.id == table.c.notification_handler_id)
        .join(Workspace, Workspace.id == NotificationHandler.workspace_id)
        .where(table.c.link_id.in_(ids), NotificationHandler.is_enabled, Workspace.deleted_datetime.is_(None))
        .order_by(NotificationHandler.id)
    )
    found: dict[int, list[int]] = defaultdict(list)
    for link_id, handler_id in session.execute(rows):
        found[link_id].append(handler_id)
    return dict(found)
