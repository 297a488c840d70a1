"""Services of notification handlers that also give a handler its place in the feed of events.

API and dashboard change handlers by these. The place of a handler that is made in another way (restored,
imported) is set by the worker, a few seconds later.
"""

from __future__ import annotations

from typing import Any

from app.accounts.access import Access
from app.core.database import AnySession
from app.core.extensions import db
from app.core.leases import precise_now
from app.events.feed.reading import newest_cursor
from app.notifications import services
from app.notifications.event_types import takes_feed
from app.notifications.models import EventCursor, NotificationHandler

delete, renew, restore = services.delete, services.renew, services.restore


def create(access: Access, changes: dict[str, Any]) -> NotificationHandler:
    """Create a handler, which is told of what happens from now on, and of changes that have no place in the
    feed yet: those of the last fraction of a second."""
    handler = services.create(access, changes)
    follow(db.session, handler)
    return handler


def update(handler: NotificationHandler, changes: dict[str, Any]) -> NotificationHandler:
    """Change a handler. Turned off, it loses its place in the feed, and turned on it begins anew."""
    services.update(handler, changes)
    follow(db.session, handler)
    return handler


def follow(session: AnySession, handler: NotificationHandler) -> None:
    """Set the handler's place in the feed to its end, or remove it where it gets nothing of the feed."""
    place = session.get(EventCursor, handler.id)
    if handler.is_enabled and takes_feed(handler.events):
        if place is None:
            cursor = newest_cursor(session, handler.workspace_id)
            session.add(EventCursor(id=handler.id, cursor=cursor, due=precise_now()))
    elif place is not None:
        session.delete(place)
    session.flush()
