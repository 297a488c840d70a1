"""Transport to a Telegram chat: a bot, which calls sendMessage."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from urllib.parse import quote

from app.i18n import digits
from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import as_many, button_of, days_of, fitted, left_out, units
from app.notifications.json_post import post_json, read_object
from app.notifications.message import Message, Section
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

API = "https://api.telegram.org"
# the longest text without its markup (core.telegram.org/bots/api#sendmessage); LINE is a limit of our own
TEXT, LINE = 4096, 1024
# these begin a mention, a hashtag, a price or a command; an invisible joiner after them prevents that
CALLS = re.compile(r"([@#$/])(?=\w)")
JOINER = "\u2060"
TAG = re.compile(r"<[^>]*>")
# Telegram's descriptions where this bot can write nothing in this chat
GONE = re.compile(
    r"chat not found|group chat was deactivated|group is deactivated|user is deactivated|chat_id is empty"
    r"|not enough rights|have no rights|need administrator rights|bot is not a member|PEER_ID_INVALID"
    r"|CHAT_ID_INVALID|CHAT_WRITE_FORBIDDEN|CHANNEL_PRIVATE|CHAT_RESTRICTED",
    re.IGNORECASE,
)


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    """Send to the chat. A group that became a supergroup has a new id: it is followed, and stored."""
    try:
        return deliver(fields["chat_c"], fields["chat_c_chat_id"], message, outbound)
    except DeliveryFailed as refused:
        moved = migrated(refused.answer)
        if moved is None:
            raise
    return replace(deliver(fields["chat_c"], moved, message, outbound), changes={"chat_c_chat_id": moved})


def deliver(token: str, chat: str, message: Message, outbound: OutboundSession) -> Delivered:
    url = f"{API}/bot{quote(token, safe=':')}/sendMessage"
    try:
        return post_json(outbound, url, payload(message, chat), is_gone)
    except DeliveryFailed as refused:
        wait = parameter(refused.answer, "retry_after")
        refused.retry_after = refused.retry_after if wait is None else float(wait)
        if said := read_object(refused.answer).get("description"):
            refused.reason = _l("Telegram says: %(said)s.", said=said)
        raise


def is_gone(status: int, body: str) -> bool:
    """Whether the bot or the chat is gone: 401 and 404 for invalid tokens, 403 for chats that bar this bot.

    Only where Telegram itself says so: a proxy on the way may answer 403 as well.
    """
    said = read_object(body)
    if said.get("ok") is not False or parameter(body, "migrate_to_chat_id") is not None:
        return False
    return status in {401, 403, 404} or (status == 400 and bool(GONE.search(str(said.get("description")))))


def parameter(body: str, name: str) -> int | None:
    """A number from an answer's parameters (core.telegram.org/bots/api#responseparameters), or None."""
    parameters = read_object(body).get("parameters")
    found = parameters.get(name) if isinstance(parameters, dict) else None
    return found if isinstance(found, int) else None


def migrated(body: str) -> str | None:
    found = parameter(body, "migrate_to_chat_id")
    return None if found is None else str(found)


def payload(message: Message, chat: str) -> dict[str, Any]:
    return {
        "chat_id": chat,
        "text": text_of(message),
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": True},
    }


def text_of(message: Message) -> str:
    begin = [f"<b>{fit_line(message.title)}</b>", fit_line(message.text)]
    end = ["", link(button_of(message), message.url)] if message.url else []
    facts = [*map(fact, message.facts)]
    begin += as_many(facts, lambda some: length([*begin, *some, *end]) <= TEXT - 40)
    parts = [section_lines(section) for section in message.sections]
    shown = as_many(parts, lambda some: length([*begin, *chain(*some), *end]) <= TEXT - 40)
    rest = left_out(len(parts) - len(shown))
    return "\n".join([*filter(None, begin), *chain(*shown), *(["", rest] if rest else []), *end])


def length(lines: Sequence[str]) -> int:
    return units(html.unescape(TAG.sub("", "\n".join(lines))))


def escaped(text: str) -> str:
    """Escape text for Telegram (core.telegram.org/bots/api#html-style), and break mentions and commands."""
    return html.escape(CALLS.sub(rf"\1{JOINER}", text))


def fit_line(text: str) -> str:
    return fitted(text, LINE, escaped, lambda dressed: units(html.unescape(dressed)))


def code(text: str) -> str:
    """Text as code: Telegram looks for no links or mentions in it, and a tap copies it."""
    return f"<code>{fitted(text, LINE, html.escape, lambda dressed: units(html.unescape(dressed)))}</code>"


def link(words: str, url: str) -> str:
    return f'<a href="{html.escape(url)}">{fit_line(words)}</a>'


def fact(pair: tuple[str, str]) -> str:
    label, value = pair
    return f"{fit_line(label)}: {code(value) if '://' in value else fit_line(value)}"


def section_lines(section: Section) -> list[str]:
    lines = ["", f"<b>{link(section.title, section.url)}</b>", *map(fact, section.facts)]
    lines += [code(days_of(section))] if section.days else []
    for table in filter(lambda one: one.rows, section.tables):
        lines += [
            "",
            f"<i>{fit_line(table.title)}</i>",
            *(f"{digits(n)}  {fit_line(name)}" for name, n in table.rows),
        ]
    return lines


TRANSPORT = Transport(
    label="Telegram",
    words=("telegram",),
    settings=(
        Setting(
            name="chat_c",
            label=_l("Bot token"),
            kind="token",
            words=("telegram",),
            example="123456789:AAExampleExampleExampleExampleExampl",
            guidance=_l("Anyone who has it controls your bot: keep it secret."),
            is_secret=True,
        ),
        Setting(
            name="chat_c_chat_id",
            label=_l("Chat"),
            kind="chat",
            words=("telegram_chat_id",),
            example="-1001234567890",
            guidance=_l("A number, negative for a group; for a public channel its @name."),
        ),
    ),
    steps=(
        _l(
            "In Telegram, write /newbot to @BotFather, name your bot, and copy the token that it "
            "answers with."
        ),
        _l("To be notified yourself, open your bot and press Start."),
        _l("For a group add the bot to it, for a channel make it an administrator."),
        _l("Write something there, and open https://api.telegram.org/bot<token>/getUpdates in a browser."),
        _l("After “chat” and “id” stands the number of the chat."),
    ),
    send=send,
)
