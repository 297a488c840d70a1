"""Transport to a Discord channel: a webhook, with messages as embeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import (
    as_many,
    days_of,
    fitted,
    left_out,
    lines_fitted,
    tone_of,
    units,
)
from app.notifications.json_post import post_json, read_object
from app.notifications.message import Message, Section
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

# docs.discord.com/developers/resources/message#embed-object-embed-limits; the last is for all embeds together
TITLE, DESCRIPTION, FIELDS, NAME, VALUE, EMBEDS, ALL = 256, 4096, 25, 256, 1024, 10, 6000
# docs.discord.com/developers/topics/opcodes-and-status-codes#json: there is no such channel, server or
# webhook, or the token is not the webhook's
GONE = {10003, 10004, 10015, 50027}
COLOURS = {"good": 0x16A34A, "warn": 0xD97706, "bad": 0xDC2626, "info": 0x0B6E66}
MARKUP = re.compile(r"([\\*_~`|<>@#\[\]():.+-])")

Embed = dict[str, Any]


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    try:
        return post_json(outbound, fields["chat_b"], payload(message), is_gone)
    except DeliveryFailed as refused:
        wait = read_object(refused.answer).get("retry_after")
        if refused.status_code == 429 and isinstance(wait, int | float):
            refused.retry_after = float(wait)  # as the header says it, but with its fraction
        raise


def is_gone(status: int, body: str) -> bool:
    code = read_object(body).get("code")
    return 400 <= status < 500 and isinstance(code, int) and code in GONE


def payload(message: Message) -> dict[str, Any]:
    """The JSON of a message. `allowed_mentions` suppresses every mention that its texts may contain."""
    first = head(message)
    parts = [section_embed(section, tone_of(message)) for section in message.sections]
    shown = as_many(parts, lambda some: fits([first, *some]))
    if rest := left_out(len(parts) - len(shown)):
        first["footer"] = {"text": rest}
    return {"username": "Waypost", "allowed_mentions": {"parse": []}, "embeds": [first, *shown]}


def fits(embeds: Sequence[Embed]) -> bool:
    return len(embeds) <= EMBEDS and sum(map(size, embeds)) <= ALL - 40  # and a footer


def size(embed: Embed) -> int:
    fields = [field[part] for field in embed["fields"] for part in ("name", "value")]
    return sum(map(units, [embed["title"], embed.get("description", ""), *fields]))


def escaped(text: str) -> str:
    """Escape text for Discord, with a backslash before each character that could be markup.

    docs.discord.com/developers/reference#message-formatting
    """
    return MARKUP.sub(r"\\\1", text)


def head(message: Message) -> Embed:
    text = {"description": fitted(message.text, DESCRIPTION // 2, escaped)}
    bare = embed(message.title, message.url, tone_of(message), []) | text
    facts = [field(label, [value]) for label, value in message.facts[:FIELDS]]
    return bare | {"fields": as_many(facts, lambda some: fits([bare | {"fields": some}]))}


def embed(title: str, url: str | None, tone: str, fields: list[dict[str, Any]]) -> Embed:
    link = {"url": url} if url and url.startswith(("http://", "https://")) else {}
    title = fitted(title, TITLE, escaped)
    return {"title": title, "color": COLOURS[tone], "fields": fields[:FIELDS], **link}


def field(name: str, lines: Sequence[str], *, inline: bool = True) -> dict[str, Any]:
    value = lines_fitted(lines, VALUE, escaped) or "–"
    return {"name": fitted(name, NAME, escaped) or "–", "value": value, "inline": inline}


def section_embed(section: Section, tone: str) -> Embed:
    facts = [field(label, [value]) for label, value in section.facts]
    days = [field(_("Day by day"), [days_of(section)], inline=False)] if section.days else []
    tables = [
        field(table.title, [f"{digits(number)}  {name}" for name, number in table.rows])
        for table in section.tables
        if table.rows
    ]
    return embed(section.title, section.url, tone, [*facts, *days, *tables])


TRANSPORT = Transport(
    label="Discord",
    words=("discord",),
    settings=(
        Setting(
            name="chat_b",
            label=_l("Webhook address"),
            kind="address",
            words=("discord",),
            example="https://discord.com/api/webhooks/000000000000000000/XXXXXXXXXXXXXXXX",
            guidance=_l("Anyone who has it can post in the channel: keep it secret."),
            is_secret=True,
        ),
    ),
    steps=(
        _l("In Discord, point at the channel and open its settings (the cog)."),
        _l("Open Integrations, then Webhooks, and choose New Webhook."),
        _l("Check that the channel is the right one, and choose Copy Webhook URL."),
    ),
    send=send,
)
