"""Which message is in a delivery?"""

from __future__ import annotations

from dataclasses import replace

from app.notifications import events, report
from app.notifications.message import Message
from app.notifications.models import Delivery
from app.notifications.site import Site
from app.notifications.speech import DEFAULT, speaking


def message_of(delivery: Delivery, site: Site, language: str = DEFAULT) -> Message:
    """The same on every try, for it is made of what is stored."""
    compose = report.compose if delivery.type == events.REPORT else events.compose
    with speaking(language):
        message = compose(delivery.webhook_id, delivery.type, delivery.datetime, delivery.data, site)
    return replace(message, language=language)
