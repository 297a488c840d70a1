"""What does the API do with notification handlers?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.api import present
from app.api.auth import may_write
from app.api.resource import Resource
from app.notifications import services
from app.notifications.forms import HandlerForm
from app.notifications.lists import LISTING
from app.notifications.models import NotificationHandler


def shown(rows: Sequence[NotificationHandler]) -> list[dict[str, Any]]:
    """To a key that can only read, without what it could deliver by itself with."""
    return [present.handler(row, with_secrets=may_write()) for row in rows]


NOTIFICATION_HANDLERS = Resource(
    path="/notification-handlers",
    model=NotificationHandler,
    form=HandlerForm,
    create=services.create,
    services=services,
    listing=LISTING,
    present=shown,
)
