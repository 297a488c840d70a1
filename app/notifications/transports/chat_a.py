"""Transport to a Slack channel: an incoming webhook, with messages in Block Kit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import as_many, button_of, days_of, fitted, left_out, lines_fitted
from app.notifications.json_post import post_json
from app.notifications.message import BreakdownTable, Message, Section
from app.notifications.transport import Delivered, Setting, Transport

# docs.slack.dev/reference/block-kit: characters of a header, of a section's text, of one of its fields; and
# the number of blocks. The limit for all together is documented nowhere; a bit above 13,000 is refused.
HEADER, TEXT, FIELD, BLOCKS, ALL = 150, 3000, 2000, 50, 12_000
# docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, "Handling errors": after one of these
# nothing sent to this URL will arrive
GONE = {
    "action_prohibited",
    "channel_is_archived",
    "channel_not_found",
    "invalid_token",
    "no_active_hooks",
    "no_service",
    "no_service_id",
    "no_team",
    "posting_to_general_channel_denied",
    "team_disabled",
    "user_not_found",
}

Block = dict[str, Any]


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    return post_json(outbound, fields["chat_a"], payload(message), is_gone)


def is_gone(status: int, body: str) -> bool:
    return 400 <= status < 500 and body.strip() in GONE


def payload(message: Message) -> dict[str, Any]:
    """The JSON of a message. `text` is what the notification on a phone's locked screen shows."""
    begin = [header(message.title), *text_block(message.text)]
    end = [context(message.url, button_of(message))] if message.url else []
    begin += fact_blocks(as_many(message.facts, lambda some: fits([*begin, *fact_blocks(some), *end])))
    parts = [section_blocks(section) for section in message.sections]
    shown = as_many(parts, lambda some: fits([*begin, *chain(*some), *end]))
    rest = text_block(left_out(len(parts) - len(shown)))
    text = fitted(f"{message.title}\n{message.text}", TEXT, escaped)
    return {"text": text, "blocks": [*begin, *chain(*shown), *rest, *end]}


def fits(blocks: Sequence[Block]) -> bool:
    return len(blocks) < BLOCKS and len(str(blocks)) <= ALL


def escaped(text: str) -> str:
    """Escape text for Slack.

    docs.slack.dev/messaging/formatting-message-text: these three characters begin mentions and links.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain_text_block(text: str) -> dict[str, Any]:
    """A block of escaped text in which nothing else is markup: no bold, no emoji by name."""
    return {"type": "plain_text", "text": text or "–", "emoji": False}


def bold(words: str) -> dict[str, Any]:
    """Bold text. For our own words only: an owner's text could contain markup."""
    return {"type": "mrkdwn", "text": f"*{escaped(words)}*"}


def header(title: str) -> Block:
    return {"type": "header", "text": plain_text_block(fitted(title, HEADER, escaped))}


def text_block(text: str) -> list[Block]:
    return [{"type": "section", "text": plain_text_block(fitted(text, TEXT, escaped))}] if text else []


def fact_blocks(facts: Sequence[tuple[str, str]]) -> list[Block]:
    """Facts in two columns. A section holds ten fields, which are five facts."""
    pairs = [(bold(label), plain_text_block(fitted(value, FIELD, escaped))) for label, value in facts]
    return [{"type": "section", "fields": [*chain(*pairs[i : i + 5])]} for i in range(0, len(pairs), 5)]


def section_blocks(section: Section) -> list[Block]:
    days = [(_("Day by day"), days_of(section))] if section.days else []
    return [
        {"type": "divider"},
        *text_block(f"{section.title}\n{section.url}"),
        *fact_blocks([*section.facts, *days]),
        *(table_block(table) for table in section.tables if table.rows),
    ]


def table_block(table: BreakdownTable) -> Block:
    lines = [f"{digits(number)}  {name}" for name, number in table.rows]
    return {
        "type": "section",
        "fields": [bold(table.title), plain_text_block(lines_fitted(lines, FIELD, escaped))],
    }


def context(url: str, words: str) -> Block:
    link = f"<{escaped(url).replace('|', '%7C')}|{escaped(words)}>"
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": link}]}


TRANSPORT = Transport(
    label="Slack",
    words=("slack",),
    settings=(
        Setting(
            name="chat_a",
            label=_l("Webhook address"),
            kind="address",
            words=("slack",),
            example="https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            guidance=_l("Anyone who has it can post in the channel: keep it secret."),
            is_secret=True,
        ),
    ),
    steps=(
        _l(
            "Open api.slack.com/apps, choose Create New App, From scratch; name it and choose your workspace."
        ),
        _l("Under Features, open Incoming Webhooks and switch them on."),
        _l("Choose Add New Webhook, choose the channel, and allow it."),
        _l("Copy the Webhook URL; it begins with https://hooks.slack.com/services/."),
    ),
    send=send,
)
