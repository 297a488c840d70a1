"""Dispatch of link events: turns the events in the outbox into deliveries to the link's handlers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, joinedload

from app.accounts.models import Workspace
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.links.clicks import clicks_of
from app.links.models import Link, link_notification_handler
from app.notifications.event_types import WORKSPACE, told_types
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
        for handler_id, events in handlers.get(event.link_id, {}).items():
            if event.type not in told_types(events):
                continue
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


def handlers_of(session: Session, ids: Collection[int]) -> dict[int, dict[int, Sequence[str] | None]]:
    """The enabled handlers of each link by id, with the events that they are told of (null for the default).

    Those that it names, and those of all links of its workspace. Without those of deleted workspaces.
    """
    table = link_notification_handler
    columns = NotificationHandler.id, NotificationHandler.events
    named = (
        select(table.c.link_id, *columns)
        .join(NotificationHandler, NotificationHandler.id == table.c.notification_handler_id)
        .where(table.c.link_id.in_(ids))
    )
    others = (
        select(Link.id, *columns)
        .join(NotificationHandler, NotificationHandler.workspace_id == Link.workspace_id)
        .where(Link.id.in_(ids), hears_unnamed(Link.id))
    )
    found: dict[int, dict[int, Sequence[str] | None]] = defaultdict(dict)
    for rows in (named, others):
        live = rows.join(Workspace, Workspace.id == NotificationHandler.workspace_id)
        wanted = live.where(NotificationHandler.is_enabled, Workspace.deleted_datetime.is_(None))
        for link_id, handler_id, events in session.execute(wanted.order_by(NotificationHandler.id)):
            found[link_id][handler_id] = events
    return dict(found)


def hears_unnamed(link_id: ColumnElement[int] | InstrumentedAttribute[int]) -> ColumnElement[bool]:
    """Whether a handler is told of a link that does not name it: of its only link, or of all."""
    is_of_all = and_(NotificationHandler.scope == WORKSPACE, NotificationHandler.link_id.is_(None))
    return or_(NotificationHandler.link_id == link_id, is_of_all)
