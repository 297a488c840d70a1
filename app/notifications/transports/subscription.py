"""Transport to a program that has subscribed by the API (a REST hook): the webhook of another setting.

See docs/decisions/2026-11-25-pushed-events.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.message import Message
from app.notifications.transport import Delivered, Setting, Transport
from app.notifications.transports import webhook


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    return webhook.send({**fields, "webhook": fields["target_url"]}, message, outbound)


TRANSPORT = Transport(
    label=_l("Subscription"),
    icon="webhook",
    takes_batches=True,
    is_subscription=True,
    settings=(
        Setting(
            name="target_url",
            label=_l("Target address"),
            kind="address",
            example="https://n8n.example.com/webhook/waypost",
            guidance=_l("The program that has subscribed gets a signed POST with JSON there."),
            is_hidden=True,
        ),
    ),
    steps=(_l("The program subscribes and unsubscribes by itself, with an API key."),),
    makes={"secret": webhook.new_secret},
    send=send,
    renew=webhook.replaced,
)
