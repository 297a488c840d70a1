"""Transport to an owner's server: webhooks signed by Standard Webhooks, so that it can verify the sender.

The body is the standard payload, or what the owner's template prints.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import secrets
from collections.abc import Mapping
from typing import Any

from standardwebhooks import Webhook

from app.core.leases import precise_now
from app.core.scheduling import give_way
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected
from app.net.session import OutboundSession
from app.notifications.body_template import PLACEHOLDERS, BodyTooLong, read_template, timestamp
from app.notifications.http_result import judge
from app.notifications.message import Message
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

# how long a replaced secret signs beside the new one
OVERLAP = dt.timedelta(days=1)


def new_secret() -> str:
    """A signing secret. Standard Webhooks wants 24 to 64 random bytes in base64 after `whsec_`."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode("ascii")


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    give_way()
    body, content_type = body_of(fields, message)
    give_way()
    headers = {**signed(fields, message.id, body, precise_now()), "content-type": content_type}
    return judge(outbound.request("POST", fields["webhook"], headers=headers, body=body.encode()))


def body_of(fields: Mapping[str, str], message: Message) -> tuple[str, str]:
    """The body and its content type. Raises DeliveryFailed where the template can't be used."""
    if not (text := fields.get("webhook_template")):
        return json.dumps(payload(message), ensure_ascii=False, separators=(",", ":")), "application/json"
    try:
        template = read_template(text)
        return template.render(message), template.content_type
    except BodyTooLong:
        reason = _l("With the body template this is larger than 64 KiB.")
        raise DeliveryFailed(reason, permanent=True) from None
    except Rejected as unusable:  # stored by a version that knew other placeholders
        raise DeliveryFailed(str(unusable), permanent=True) from None


def payload(message: Message) -> dict[str, Any]:
    """The body, the same on every attempt. `timestamp` is the event's time, the header's that of sending."""
    return {"type": message.type, "timestamp": timestamp(message), "data": message.data}


def signed(fields: Mapping[str, str], id_: str, body: str, now: dt.datetime) -> dict[str, str]:
    """The headers, with a signature by each valid secret: a receiver may still use the replaced one.

    standardwebhooks.com allows a list of signatures for that.
    """
    signatures = [Webhook(secret).sign(id_, now, body) for secret in secrets_of(fields, now)]
    return {
        "user-agent": "Waypost",
        "webhook-id": id_,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def secrets_of(fields: Mapping[str, str], now: dt.datetime) -> list[str]:
    """The secret, and for a day the one that it has replaced."""
    before, until = fields.get("secret_before"), fields.get("secret_before_until")
    is_valid = before and until and now < dt.datetime.fromisoformat(until)
    return [fields["secret"], *([before] if before and is_valid else [])]


def replaced(fields: Mapping[str, str], now: dt.datetime) -> dict[str, str]:
    """The settings with a new secret. Of several replaced within a day, only the last one stays valid."""
    until = (now + OVERLAP).isoformat(timespec="seconds")
    return {**fields, "secret": new_secret(), "secret_before": fields["secret"], "secret_before_until": until}


TRANSPORT = Transport(
    label="Webhook",
    icon="webhook",
    takes_batches=True,
    settings=(
        Setting(
            name="webhook",
            label=_l("Address"),
            kind="address",
            example="https://example.com/hooks/waypost",
            guidance=_l("Receives a signed POST with JSON. Any library of Standard Webhooks verifies it."),
            is_hidden=True,
        ),
        Setting(
            name="webhook_template",
            label=_l("Body template"),
            kind="lines",
            example='{"text": "{{ event.title }}", "clicks": {{ link.clicks }}}',
            guidance=_l(
                "Empty for the standard body. Placeholders: %(names)s. Within quotes their text is printed, "
                "elsewhere JSON.",
                names=", ".join(PLACEHOLDERS),
            ),
            check=read_template,
            is_hidden=True,
            is_optional=True,
        ),
    ),
    makes={"secret": new_secret},
    send=send,
    renew=replaced,
    steps=(
        _l("Give your server a URL that answers a POST with a status of 200 to 299, within 15 seconds."),
        _l("Save the handler here, edit it again, and copy its signing secret to your server."),
        _l("Verify each call with a library of Standard Webhooks: see standardwebhooks.com."),
    ),
)
