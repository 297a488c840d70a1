"""Transport to an application on a Gotify server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import fitted, one_line, size_in_bytes, text_within, tone_of
from app.notifications.json_post import post_json, quote_service, read_object
from app.notifications.message import Message
from app.notifications.server_url import on_server, require_server
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

# Gotify documents no limit; a server with MySQL stores 65,535 bytes (model/message.go, a column of type text)
MESSAGE, TITLE = 16_000, 250
# gotify.net/docs/pushmsg: Android shows 4 to 7 with a sound, and from 8 on above everything else
PRIORITIES = {"bad": 8}


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    url, headers = on_server(fields["gotify"], "message"), {"x-gotify-key": fields["gotify_token"]}
    try:
        return post_json(outbound, url, payload(message), is_gone, is_refused, headers=headers)
    except DeliveryFailed as refused:
        quote_service(refused, "Gotify", read_object(refused.answer).get("errorDescription"))
        raise


def is_gone(status: int, body: str) -> bool:
    """Whether Gotify itself knows no application with this token: a proxy on the way may answer 401, too."""
    return status in {401, 403} and read_object(body).get("errorCode") == status


def is_refused(status: int, body: str) -> bool:
    return status == 400 and read_object(body).get("errorCode") == status


def payload(message: Message) -> dict[str, Any]:
    """The JSON of a message (gotify.net/docs/msgextras says of `extras`). Its text is plain, not Markdown."""
    title = fitted(one_line(message.title), TITLE)
    link = {"client::notification": {"click": {"url": message.url}}} if message.url else {}
    return {
        "title": title,
        "message": text_within(message, MESSAGE, size_in_bytes) or title,
        "priority": PRIORITIES.get(tone_of(message), 5),
        "extras": {"client::display": {"contentType": "text/plain"}, **link},
    }


TRANSPORT = Transport(
    label="Gotify",
    icon="bell",
    settings=(
        Setting(
            name="gotify",
            label=_l("Server"),
            kind="address",
            example="https://gotify.example.com",
            guidance=_l("The address that you open Gotify at in a browser."),
            check=require_server,
        ),
        Setting(
            name="gotify_token",
            label=_l("Application token"),
            kind="identifier",
            example="AbCdEf123456789",
            guidance=_l("It begins with A. Anyone who has it can send you messages: keep it secret."),
            pattern="[!-~]{1,128}",
            problem=_l("This must be a token without spaces."),
            is_secret=True,
        ),
    ),
    steps=(
        _l("Open your Gotify server, choose Apps, then Create application, and name it."),
        _l("In its row, show the token with the eye, and copy it."),
        _l("If the server is in a private network, its network must be in WAYPOST_ALLOW_PRIVATE_NETWORKS."),
    ),
    send=send,
)
