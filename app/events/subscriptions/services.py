"""Subscribing and unsubscribing of programs."""

from __future__ import annotations

from typing import Any

from app.accounts.access import Access, get_owned
from app.accounts.models import ApiKey
from app.audit.services import Object, record
from app.core.errors import NotFound
from app.core.extensions import db
from app.core.urls import split_address
from app.events.push import handlers
from app.notifications.event_types import ATTACHED, WORKSPACE
from app.notifications.models import NotificationHandler

TYPE = "subscription"


def create(access: Access, key: ApiKey, changes: dict[str, Any]) -> NotificationHandler:
    """Subscribe: make a handler, which ends with this key. Raises Invalid for one handler too many."""
    target, link_id = changes["target_url"], changes.get("link_id")
    return handlers.create(
        access,
        {
            "type": TYPE,
            "name": changes.get("name") or (split_address(target).hostname or target)[:128],
            "settings": {"target_url": target},
            "events": changes["events"],
            "scope": ATTACHED if link_id else changes.get("scope") or WORKSPACE,
            "link_id": link_id,
            "api_key_id": key.id,
            "click_filter": changes.get("click_filter"),
        },
    )


def get(access: Access, id: int) -> NotificationHandler:
    """The workspace's subscription with this id. Raises NotFound, also for another handler."""
    found = get_owned(access, NotificationHandler, id)
    if found.type != TYPE:
        raise NotFound("subscription")
    return found


def delete(handler: NotificationHandler) -> None:
    """Unsubscribe. It does not go to the trash: a program that wants it again subscribes anew."""
    on = Object("notification_handler", handler.id, handler.name)
    record(db.session, "notification_handler.deleted", owner_id=handler.user_id, on=on)
    db.session.delete(handler)
    db.session.flush()
