"""Transport to a Mattermost channel: an incoming webhook, with messages as attachments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import as_many, days_of, fitted, left_out, lines_fitted, one_line, tone_of
from app.notifications.json_post import post_json, quote_service, read_object
from app.notifications.message import BreakdownTable, Message, Section
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

# Attachments are properties of a post, which had 8,000 characters before they had 800,000 (model/post.go).
# The others are limits of our own
ALL, TITLE, TEXT, VALUE = 7600, 250, 1000, 500
COLOURS = {"good": "#16a34a", "warn": "#d97706", "bad": "#dc2626", "info": "#0b6e66"}
# developers.mattermost.com/integrate/reference/message-attachments: texts are Markdown, and mention people
MARKUP = re.compile(r"([\\*_~`|>\[\](){}#+!-])")
# these begin a mention, a channel, a hashtag, an emoji, an entity, or a mention in Slack's way, which
# Mattermost reads as well; an invisible joiner after them prevents that
CALLS = re.compile(r"([@~#:&<])(?=\S)")
JOINER = "\u2060"
# app/webhook.go, HandleIncomingWebhook: there is no such webhook or channel, or its maker may not post there
GONE = {
    "api.post.create_post.can_not_post_to_deleted.error",
    "app.channel.get.existing.app_error",
    "web.incoming_webhook.channel.app_error",
    "web.incoming_webhook.channel_locked.app_error",
    "web.incoming_webhook.disabled.app_error",
    "web.incoming_webhook.invalid.app_error",
    "web.incoming_webhook.permissions.app_error",
    "web.incoming_webhook.user.app_error",
}
# and these say that it is this message that can't be posted
REFUSED = re.compile(
    r"api\.webhook\.incoming\.error|web\.incoming_webhook\.\w+\.app_error|model\.post\.is_valid\..*"
)

Attachment = dict[str, Any]


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    try:
        return post_json(outbound, fields["mattermost"], payload(message), is_gone, is_refused)
    except DeliveryFailed as refused:
        quote_service(refused, "Mattermost", read_object(refused.answer).get("message"))
        raise


def error_of(body: str) -> str:
    return str(read_object(body).get("id"))


def is_gone(status: int, body: str) -> bool:
    """Whether nothing will arrive any more. 501 is what a server without incoming webhooks says."""
    return (400 <= status < 500 or status == 501) and error_of(body) in GONE


def is_refused(status: int, body: str) -> bool:
    return status in {400, 413} and bool(REFUSED.fullmatch(error_of(body)))


def payload(message: Message) -> dict[str, Any]:
    """The JSON of a message. `username` is shown where the server lets integrations choose one."""
    first = head(message)
    parts = [section_of(section, tone_of(message)) for section in message.sections]
    shown = as_many(parts, lambda some: fits([first, *some]))
    if rest := left_out(len(parts) - len(shown)):
        first["footer"] = rest
    return {"username": "Waypost", "attachments": [first, *shown]}


def fits(attachments: Sequence[Attachment]) -> bool:
    return len(json.dumps(attachments, ensure_ascii=False)) <= ALL - 100  # and a footer


def head(message: Message) -> Attachment:
    text = escaped_within(message.text, TEXT)
    bare = attachment(message.title, message.url, tone_of(message), []) | {"text": text}
    facts = [field(label, value_of(value)) for label, value in message.facts]
    return bare | {"fields": as_many(facts, lambda some: fits([bare | {"fields": some}]))}


def attachment(title: str, url: str | None, tone: str, fields: list[dict[str, Any]]) -> Attachment:
    """One attachment. `fallback` is what notifications show: plain text, so without escapes."""
    link = {"title_link": url} if url and url.startswith(("http://", "https://")) else {}
    plain = fitted(one_line(title), TITLE, unmentioned)
    title = escaped_within(title, TITLE)
    return {"fallback": plain, "color": COLOURS[tone], "title": title, **link, "fields": fields}


def unmentioned(text: str) -> str:
    return CALLS.sub(rf"\1{JOINER}", text)


def escaped(text: str) -> str:
    """Escape text for Mattermost: no Markdown, no mention, no emoji by name."""
    return unmentioned(MARKUP.sub(r"\\\1", text))


def escaped_within(text: str, most: int) -> str:
    return fitted(one_line(text), most, escaped)


def value_of(text: str) -> str:
    return code(text) if "://" in text else escaped_within(text, VALUE) or "–"


def code(text: str) -> str:
    """Text as code, in which only a mention in Slack's way would be read. Longer than each run of ` in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return fitted(one_line(text), VALUE, lambda part: f"{fence} {part.replace('<', f'<{JOINER}')} {fence}")


def field(name: str, value: str) -> dict[str, Any]:
    return {"title": escaped_within(name, TITLE) or "–", "value": value, "short": True}


def section_of(section: Section, tone: str) -> Attachment:
    facts = [field(label, value_of(value)) for label, value in section.facts]
    facts += [field(_("Day by day"), days_of(section))] if section.days else []
    facts += [field(table.title, table_of(table)) for table in section.tables if table.rows]
    return attachment(section.title, section.url, tone, facts)


def table_of(table: BreakdownTable) -> str:
    lines = [f"{digits(number)}  {one_line(name)}" for name, number in table.rows]
    return lines_fitted(lines, VALUE, escaped)


TRANSPORT = Transport(
    label="Mattermost",
    settings=(
        Setting(
            name="mattermost",
            label=_l("Webhook address"),
            kind="address",
            example="https://mattermost.example.com/hooks/xxxxxxxxxxxxxxxxxxxxxxxxxx",
            guidance=_l("Anyone who has it can post in the channel: keep it secret."),
            is_secret=True,
        ),
    ),
    steps=(
        _l("In Mattermost, open the product menu (the squares) and choose Integrations, Incoming Webhooks."),
        _l("Choose Add Incoming Webhook, name it, choose the channel and save."),
        _l("Copy the address that it shows; it contains /hooks/."),
        _l("Without Integrations in the menu, an administrator has to permit them in the System Console."),
    ),
    send=send,
)
