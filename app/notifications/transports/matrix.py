"""Transport to a room of Matrix, by the client-server API, as the user that an access token belongs to."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeGuard
from urllib.parse import quote

from app.i18n import digits
from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import (
    as_many,
    button_of,
    days_of,
    fitted,
    left_out,
    one_line,
    text_within,
)
from app.notifications.json_post import json_size, post_json, quote_service, read_object
from app.notifications.message import BreakdownTable, Message, Section
from app.notifications.server_url import on_server, require_server
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

# spec.matrix.org, client-server API, "Size limits": an event has at most 65,536 bytes, with what servers add.
# The others are limits of our own: of the HTML, of the text for clients without it, and of one line
HTML, TEXT, LINE = 40_000, 8000, 1000
# spec.matrix.org, "Common error codes": this user, or this user in this room, can send nothing any more
GONE = {
    "M_FORBIDDEN",
    "M_GUEST_ACCESS_FORBIDDEN",
    "M_MISSING_TOKEN",
    "M_UNKNOWN_TOKEN",
    "M_USER_DEACTIVATED",
}
REFUSED = {"M_BAD_JSON", "M_INVALID_PARAM", "M_NOT_JSON", "M_TOO_LARGE"}


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    """Send to the room. The transaction's id is the message's, so that a repeated one appears once."""
    room, transaction = quote(fields["matrix_room_id"], safe=""), quote(message.id, safe="")
    path = f"_matrix/client/v3/rooms/{room}/send/m.room.message/{transaction}"
    url = on_server(fields["matrix"], path)
    headers = {"authorization": f"Bearer {fields['matrix_token']}"}
    try:
        return post_json(outbound, url, payload(message), is_gone, is_refused, method="PUT", headers=headers)
    except DeliveryFailed as refused:
        said = read_object(refused.answer)
        wait = said.get("retry_after_ms")
        if said.get("errcode") == "M_LIMIT_EXCEEDED" and is_number(wait):
            refused.retry_after = refused.retry_after or max(0.0, float(wait) / 1000)
        quote_service(refused, "Matrix", said.get("error") or said.get("errcode"))
        raise


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def error_of(body: str) -> str:
    return str(read_object(body).get("errcode"))


def is_gone(status: int, body: str) -> bool:
    return 400 <= status < 500 and error_of(body) in GONE


def is_refused(status: int, body: str) -> bool:
    return 400 <= status < 500 and error_of(body) in REFUSED


def payload(message: Message) -> dict[str, Any]:
    """The content of the event. `m.mentions`, although empty, says that no name in its texts is a mention."""
    title, url = fitted(one_line(message.title), LINE), message.url or ""
    text = [title, text_within(message, TEXT, json_size), url]
    return {
        "msgtype": "m.text",
        "body": "\n".join(filter(None, text)),
        "format": "org.matrix.custom.html",
        "formatted_body": html_of(message),
        "m.mentions": {},
    }


def html_of(message: Message) -> str:
    begin = [f"<p><strong>{line(message.title)}</strong></p>", *paragraph(message.text)]
    end = [f"<p>{link(button_of(message), message.url)}</p>"] if message.url else []
    facts = [f"{line(label)}: {value_of(value)}<br>" for label, value in message.facts]
    begin += as_many(facts, lambda some: fits([*begin, *some, *end]))
    parts = [section_of(section) for section in message.sections]
    shown = as_many(parts, lambda some: fits([*begin, *chain(*some), *end]))
    rest = left_out(len(parts) - len(shown))
    return "".join([*begin, *chain(*shown), *paragraph(rest), *end])


def fits(parts: Sequence[str]) -> bool:
    return json_size("".join(parts)) <= HTML - 2 * LINE  # and the line on what was left out


def line(text: str) -> str:
    """Text as HTML, in which it is nothing but text."""
    return fitted(one_line(text), LINE, html.escape)


def paragraph(text: str) -> list[str]:
    return [f"<p>{line(text)}</p>"] if text else []


def value_of(text: str) -> str:
    return f"<code>{line(text)}</code>" if "://" in text else line(text)


def link(words: str, url: str) -> str:
    """A link to a page of this Waypost or to a short link; clients follow no other schemes than these two."""
    is_web = url.startswith(("http://", "https://"))
    return f'<a href="{html.escape(url)}">{line(words)}</a>' if is_web else line(words)


def section_of(section: Section) -> list[str]:
    lines = [f"{line(label)}: {value_of(value)}<br>" for label, value in section.facts]
    lines += [f"<code>{line(days_of(section))}</code><br>"] if section.days else []
    return [f"<h4>{link(section.title, section.url)}</h4>", *lines, *map(table_of, section.tables)]


def table_of(table: BreakdownTable) -> str:
    rows = "".join(f"<li>{line(name)}: {digits(number)}</li>" for name, number in table.rows)
    return f"<p>{line(table.title)}</p><ul>{rows}</ul>" if rows else ""


TRANSPORT = Transport(
    label="Matrix",
    settings=(
        Setting(
            name="matrix",
            label=_l("Homeserver"),
            kind="address",
            example="https://matrix.example.org",
            guidance=_l("In Element: Settings, Help & About, at the bottom, “Homeserver is”."),
            check=require_server,
        ),
        Setting(
            name="matrix_room_id",
            label=_l("Room ID"),
            kind="identifier",
            example="!OGEhHVWSdvArJzumhm:matrix.org",
            guidance=_l("In Element: the room's Settings, Advanced, “Internal room ID”. It begins with !."),
            pattern="![!-~]{1,254}",
            problem=_l("This must be the room's internal ID, which begins with !."),
            most=255,
        ),
        Setting(
            name="matrix_token",
            label=_l("Access token"),
            kind="identifier",
            example="syt_d2F5cG9zdA_ExampleExampleExample_0aBcDe",
            guidance=_l(
                "In Element: Settings, Help & About, Access Token. Who has it is that user: keep it secret."
            ),
            pattern="[!-~]{1,1024}",
            problem=_l("This must be a token without spaces."),
            most=1024,
            is_secret=True,
        ),
    ),
    steps=(
        _l("Register a user of its own for Waypost on your homeserver, and sign in as that user."),
        _l("Invite that user to the room, accept there, and copy the three values."),
        _l("Then close the window without signing out: signing out makes the token invalid."),
        _l("Encryption must be off in the room: Waypost sends messages that are not encrypted."),
    ),
    send=send,
)
