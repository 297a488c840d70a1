"""How does what has happened to a link become deliveries to those that its owner named?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, joinedload

from app.accounts.models import User
from app.database import begin_write
from app.error_boundary import ErrorBoundary
from app.links.clicks import clicks_of
from app.links.models import Link, link_notification_handler
from app.notifications.models import Event, NotificationHandler
from app.notifications.outbox import deliver
from app.notifications.site import Site

AT_ONCE = 200

errors = ErrorBoundary("events")


def tell(session: Session, site: Site) -> bool:
    """Turn what waits in the outbox into deliveries, each event once; whether there was any."""
    wanted = select(Event.id).where(Event.id.not_in(errors.backed_off(int)))
    ids = session.scalars(wanted.order_by(Event.id).limit(AT_ONCE)).all()
    errors.each(ids, lambda some: tell_some(session, some, site))
    session.rollback()
    return bool(ids)


def tell_some(session: Session, ids: Sequence[int], site: Site) -> None:
    """Take these events out of the outbox and write their deliveries. Of two workers one gets a row."""
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


def described(session: Session, ids: Collection[int], site: Site) -> dict[int, dict[str, Any]]:
    """Each link as messages have it. One that was deleted meanwhile has nobody left to be told."""
    rows = session.scalars(select(Link).where(Link.id.in_(ids)).options(joinedload(Link.domain))).all()
    clicks = clicks_of([row.id for row in rows], session)
    return {row.id: shown(row, clicks[row.id], site) for row in rows}


def shown(link: Link, clicks: int, site: Site) -> dict[str, Any]:
    """`data.link` of the contract."""
    domain = f"{link.domain.scheme}{link.domain.host}" if link.domain else None
    return {
        "id": link.id,
        "url": link.url,
        "short_url": site.short_url(link.url, domain),
        "location_url": link.location_url,
        "clicks": clicks,
    }


def handlers_of(session: Session, ids: Collection[int]) -> dict[int, Sequence[int]]:
    """The handlers of each link that are switched on, unless their owner was deleted."""
    table = link_notification_handler
    rows = (
        select(table.c.link_id, NotificationHandler.id)
        .join(NotificationHandler, NotificationHandler.id == table.c.notification_handler_id)
        .join(User, User.id == NotificationHandler.user_id)
        .where(table.c.link_id.in_(ids), NotificationHandler.is_enabled, User.deleted_datetime.is_(None))
        .order_by(NotificationHandler.id)
    )
    found: dict[int, list[int]] = defaultdict(list)
    for link_id, handler_id in session.execute(rows):
        found[link_id].append(handler_id)
    return dict(found)
