"""Subscribing and unsubscribing of programs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from app.accounts import workspaces
from app.accounts.access import Access
from app.accounts.models import ApiKey
from app.accounts.ownership import get_owned
from app.audit.services import Object, record
from app.core.errors import FieldError, Invalid, NotFound
from app.core.extensions import db
from app.core.urls import split_address
from app.events.push import handlers
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.notifications.event_types import ATTACHED, WORKSPACE
from app.notifications.models import NotificationHandler

TYPE = "subscription"
MAX_SUBSCRIPTIONS = 100  # of a workspace


def create(access: Access, key: ApiKey, changes: dict[str, Any]) -> NotificationHandler:
    """Subscribe: make a handler, which ends with this key. Raises Invalid for one too many."""
    workspaces.hold(access.workspace_id)
    require_room(access.workspace_id)
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


def require_room(workspace_id: int) -> None:
    mine = NotificationHandler.workspace_id == workspace_id, NotificationHandler.type == TYPE
    count = db.session.scalar(select(func.count()).select_from(NotificationHandler).where(*mine)) or 0
    if count >= MAX_SUBSCRIPTIONS:
        text = _l("A workspace may have at most %(most)s subscriptions.", most=lazy_digits(MAX_SUBSCRIPTIONS))
        raise Invalid(FieldError(text, "too_many", "target_url"))


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
