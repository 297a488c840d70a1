"""Transport by e-mail, over the operator's mail server."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parseaddr

from app.core.smtp_url import read_server
from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.mail import compose_email, default_sender, encode_address
from app.notifications.message import Message
from app.notifications.smtp import SmtpMessage, hand_in
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

NOT_SET_UP = _l("This instance can't send e-mail yet: its operator has to set WAYPOST_SMTP_URL.")


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    if not outbound.settings.smtp_url:
        raise DeliveryFailed(NOT_SET_UP)
    sender, to = outbound.settings.mail_from or default_sender(message), fields["email"]
    mail = compose_email(message, sender, to)
    smtp_message = SmtpMessage(encode_address(parseaddr(sender)[1]), encode_address(to), mail.as_bytes())
    return hand_in(
        smtp_message,
        read_server(outbound.settings.smtp_url),
        outbound,
        name=smtp_message.sender.rpartition("@")[2],
    )


TRANSPORT = Transport(
    label=_l("E-mail"),
    icon="mail",
    settings=(
        Setting(
            name="email",
            label=_l("E-mail address"),
            kind="email",
            example="team@example.com",
            guidance=_l(
                "Reports and events go there once it is confirmed. Each e-mail has a link to unsubscribe."
            ),
        ),
    ),
    send=send,
    confirms="email",
    lacks=lambda settings: "" if settings.smtp_url else NOT_SET_UP,
)
