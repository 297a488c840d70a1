"""The list of a workspace's subscriptions."""

from __future__ import annotations

from sqlalchemy import and_

from app.events.subscriptions.services import TYPE
from app.input.listing import Listing, contains
from app.notifications.models import NotificationHandler


def subscriptions_of(workspace_id: int) -> Listing[NotificationHandler]:
    """Those of its handlers that are subscriptions."""
    return Listing(
        model=NotificationHandler,
        filters={"search": lambda text, params: contains(text, NotificationHandler.name)},  # noqa: ARG005
        orders={"subscription_id": NotificationHandler.id, "datetime": NotificationHandler.datetime},
        mine=and_(NotificationHandler.workspace_id == workspace_id, NotificationHandler.type == TYPE),
    )
