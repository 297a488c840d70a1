"""Does a handler work? One message at once, without a second try, while whoever asks waits.

First `trial_message`, then `delivery.attempt` with no transaction open, then `keep`.
"""

from __future__ import annotations

from dataclasses import replace

from app.claims import moment
from app.database import AnySession
from app.notifications import events
from app.notifications.delivery import Outcome
from app.notifications.message import Message
from app.notifications.models import Delivery, NotificationHandler
from app.notifications.outbox import learn, new_webhook_id, settle
from app.notifications.site import Site
from app.notifications.speech import DEFAULT, speaking
from app.notifications.stopping import stop_url


def trial_message(handler: NotificationHandler, site: Site, language: str = DEFAULT) -> Message:
    data = {"handler": {"id": handler.id, "name": handler.name, "type": handler.type}}
    with speaking(language):
        message = events.compose(new_webhook_id(), events.TEST, moment(), data, site)
    return replace(message, stop_url=stop_url(handler, site), language=language)


def keep(session: AnySession, handler: NotificationHandler, message: Message, outcome: Outcome) -> Delivery:
    """Write down what came of it, as a delivery with its one attempt. (The caller commits.)"""
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
