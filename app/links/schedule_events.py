"""Events of links: those at their start and end, each raised once, and the dispatch of all to their handlers.

`start_due` and `end_due` hold a date in the future. Raising its event clears it, in the same transaction. A
date that is in the past when it is set raises no event. The dispatch turns events in the outbox into
deliveries to the link's handlers.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, joinedload

from app.accounts.models import Workspace
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.leases import precise_now
from app.links.clicks import clicks_of
from app.links.models import Link, link_notification_handler
from app.notifications.event_types import WORKSPACE, told_types
from app.notifications.events import raise_ended, raise_started
from app.notifications.models import Event, NotificationHandler
from app.notifications.outbox import deliver
from app.notifications.site import SiteUrls

BATCH_SIZE = 500
errors = ErrorBoundary("starts and ends of links")
# each date of a link, and the column that holds it while it is to come
MOMENTS = (("start_date", "start_due"), ("end_date", "end_due"))

Dates = dict[str, dt.datetime | None]


def dates_of(link: Link) -> Dates:
    return {date: getattr(link, date) for date, _ in MOMENTS}


def expect(link: Link, before: Dates) -> None:
    """Set the due dates of the dates that changed; those in the past have none."""
    for date, due in MOMENTS:
        value = getattr(link, date)
        if value != before.get(date):
            setattr(link, due, value if value and value > precise_now() else None)


def tell_moments(session: Session) -> bool:
    """Raise the events of all dates that have come. Returns whether there were any."""
    now = precise_now()
    ids = session.scalars(due_links(now)).all()
    errors.each(sorted(ids), lambda some: tell_some(session, some, now))
    session.rollback()
    return bool(ids)


def due_links(now: dt.datetime) -> Select[int]:
    """Some links with a date that has come.

    In no order: to have them by id, SQLite would read all links twice a second instead of the two indexes.
    """
    has_come = or_(*(getattr(Link, due) <= now for _, due in MOMENTS))
    return select(Link.id).where(has_come, Link.id.not_in(errors.backed_off(int))).limit(BATCH_SIZE)


def tell_some(session: Session, ids: Sequence[int], now: dt.datetime) -> None:
    """Raise the events of these links in one transaction."""
    begin_write(session)
    come = select(Link).where(Link.id.in_(ids)).order_by(Link.id).with_for_update()
    for link in session.scalars(come):
        start_date, end_date = (take_due(link, due, now) for _, due in MOMENTS)
        if link.is_enabled:  # for visitors, a disabled link neither starts nor ends
            if start_date:
                raise_started(session, link.id, start_date=start_date)
            if end_date:
                raise_ended(session, link.id, end_date=end_date)
    session.commit()


def take_due(link: Link, due: str, now: dt.datetime) -> dt.datetime | None:
    """Take the date out of its column if it has come, and return it."""
    value: dt.datetime | None = getattr(link, due)
    if value is None or value > now:
        return None
    setattr(link, due, None)
    return value


DISPATCH_BATCH_SIZE = 200

dispatch_errors = ErrorBoundary("events")


def tell(session: Session, site: SiteUrls) -> bool:
    """Turn the waiting events into deliveries, each event once. Returns whether there were any."""
    wanted = select(Event.id).where(Event.id.not_in(dispatch_errors.backed_off(int)))
    ids = session.scalars(wanted.order_by(Event.id).limit(DISPATCH_BATCH_SIZE)).all()
    dispatch_errors.each(ids, lambda some: dispatch_some(session, some, site))
    session.rollback()
    return bool(ids)


def dispatch_some(session: Session, ids: Sequence[int], site: SiteUrls) -> None:
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
