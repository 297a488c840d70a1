"""The test message of a handler: one attempt at once, while the request waits.

First `trial_message`, then `delivery.attempt` with no transaction open, then `keep`.
"""

from __future__ import annotations

from dataclasses import replace

from app.core.database import AnySession
from app.core.leases import moment
from app.i18n.in_language import in_language
from app.i18n.languages import DEFAULT
from app.notifications import events
from app.notifications.delivery import AttemptResult
from app.notifications.message import Message
from app.notifications.models import Delivery, NotificationHandler
from app.notifications.outbox import learn, new_webhook_id, settle
from app.notifications.site import SiteUrls
from app.notifications.unsubscribe import stop_url


def trial_message(handler: NotificationHandler, site: SiteUrls, language: str = DEFAULT) -> Message:
    data = {"handler": {"id": handler.id, "name": handler.name, "type": handler.type}}
    with in_language(language):
        message = events.compose(new_webhook_id(), events.TEST, moment(), data, site)
    return replace(message, stop_url=stop_url(handler, site), language=language)


def keep(
    session: AnySession, handler: NotificationHandler, message: Message, outcome: AttemptResult
) -> Delivery:
    """Store the result as a delivery with its one attempt. (The caller commits.)"""
    delivery = Delivery(
        handler_id=handler.id,
        type=message.type,
        webhook_id=message.id,
        data=dict(message.data),
        tries=0,
    )
    session.add(delivery)
    session.flush()
    settle(session, delivery, outcome, is_last=True)
    learn(handler, outcome, is_test=True)
    session.flush()
    return delivery
