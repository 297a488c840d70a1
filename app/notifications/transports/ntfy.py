"""Transport to a topic of ntfy, on ntfy.sh or on a server of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import fitted, one_line, size_in_bytes, text_within, tone_of
from app.notifications.json_post import json_size, post_json, quote_service, read_object
from app.notifications.message import Message
from app.notifications.server_url import on_server, require_server
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

# docs.ntfy.sh/publish/#limitations: a message above 4,096 bytes becomes an attachment; the whole JSON may
# have twice as many (server.go, readJSONWithLimit). Phones get 4,000 bytes with the title
MESSAGE, TITLE, ALL = 3500, 250, 8000
# docs.ntfy.sh/emojis: these tags are shown as a symbol; publish/#message-priority: 3 is the usual one
TAGS = {"good": "white_check_mark", "warn": "warning", "bad": "rotating_light", "info": "bell"}
PRIORITIES = {"bad": 4}
# ntfy's own codes (server/errors.go): not signed in, not allowed, no such topic, and one that it reserves
GONE = {40101, 40301, 40009, 40010}


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    token = fields.get("ntfy_token")
    url, value = on_server(fields["ntfy"], ""), payload(message, fields["ntfy_topic"])
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        return post_json(outbound, url, value, is_gone, is_refused, headers=headers)
    except DeliveryFailed as refused:
        quote_service(refused, "ntfy", read_object(refused.answer).get("error"))
        raise


def code_of(body: str) -> int:
    """The code of an answer of ntfy, 0 of any other one."""
    found = read_object(body).get("code")
    return found if isinstance(found, int) else 0


def is_gone(status: int, body: str) -> bool:
    return 400 <= status < 500 and code_of(body) in GONE


def is_refused(status: int, body: str) -> bool:
    """Whether ntfy calls the message itself invalid, or too large."""
    return status in {400, 413} and code_of(body) // 100 == status


def payload(message: Message, topic: str) -> dict[str, Any]:
    """The JSON of a message (docs.ntfy.sh/publish/#publish-as-json). Its text is plain, not Markdown."""
    link = {"click": message.url} if message.url and message.url.startswith(("http://", "https://")) else {}
    tone = tone_of(message)
    found = {
        "topic": topic,
        "title": fitted(one_line(message.title), TITLE, size=size_in_bytes),
        "tags": [TAGS[tone]],
        "priority": PRIORITIES.get(tone, 3),
        **link,
    }
    room = min(MESSAGE, ALL - json_size(found) - 20)
    return {**found, "message": text_within(message, room, json_size) or found["title"]}


TRANSPORT = Transport(
    label="ntfy",
    icon="bell",
    settings=(
        Setting(
            name="ntfy",
            label=_l("Server"),
            kind="address",
            example="https://ntfy.sh",
            guidance=_l("The address of the ntfy server alone, without the topic."),
            check=require_server,
        ),
        Setting(
            name="ntfy_topic",
            label=_l("Topic"),
            kind="identifier",
            example="waypost-k3v9x2",
            guidance=_l(
                "Anyone who knows a topic without a login can read it: make one that is hard to guess."
            ),
            pattern="[A-Za-z0-9_-]{1,64}",
            problem=_l("This must be 1 to 64 letters from a to z, digits, - or _."),
            is_hidden=True,
        ),
        Setting(
            name="ntfy_token",
            label=_l("Access token"),
            kind="identifier",
            example="tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2",
            guidance=_l("Only for a topic that needs a login: in the web app under Account, Access tokens."),
            pattern="[!-~]{1,256}",
            problem=_l("This must be a token without spaces."),
            most=256,
            is_secret=True,
            is_optional=True,
        ),
    ),
    steps=(
        _l("Install the ntfy app, or open ntfy.sh or your own server in a browser."),
        _l("Choose Subscribe to topic, and enter a name that is hard to guess."),
        _l("Enter the same name here as the topic, and the server that the app shows below it."),
    ),
    send=send,
)
