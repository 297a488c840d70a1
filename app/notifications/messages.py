"""Which message is in a delivery?"""

from __future__ import annotations

from app.notifications import events
from app.notifications.message import Message
from app.notifications.models import Delivery
from app.notifications.site import Site


def message_of(delivery: Delivery, site: Site) -> Message:
    """The same on every try, for it is made of what is stored."""
    return events.compose(delivery.webhook_id, delivery.type, delivery.datetime, delivery.data, site)
