"""Transport to a Microsoft Teams channel: a workflow's webhook, with messages as Adaptive Cards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import as_many, button_of, days_of, fitted, left_out, lines_fitted, tone_of
from app.notifications.json_post import post_json, read_object
from app.notifications.message import BreakdownTable, Message, Section
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

# learn.microsoft.com/microsoftteams/limits-specifications-teams: 28 KB a message, including what Teams adds
BYTES, TITLE, TEXT = 24_000, 256, 1000
SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"
COLOURS = {"good": "Good", "warn": "Warning", "bad": "Attention", "info": "Default"}
# error codes of Logic Apps, which runs the workflows, where the flow is gone or its URL is incomplete
GONE = {
    "AuthenticationFailed",
    "DirectApiAuthorizationRequired",
    "DirectApiInvalidAuthorizationScheme",
    "MissingApiVersionParameter",
    "WorkflowNotFound",
    "WorkflowTriggerNotFound",
}

Element = dict[str, Any]


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    sent = post_json(outbound, fields["chat_d"], payload(message), is_gone)
    if (
        "delivery failed" in sent.answer.lower()
    ):  # old connectors answer 200, and say in the body that it failed
        reason = _l("Teams took the message, but could not post it.")
        raise DeliveryFailed(reason, status_code=sent.status_code, answer=sent.answer)
    return sent


def is_gone(status: int, body: str) -> bool:
    error = read_object(body).get("error")
    return 400 <= status < 500 and isinstance(error, dict) and str(error.get("code")) in GONE


def payload(message: Message) -> dict[str, Any]:
    """The JSON of a message, as the flow "Send webhook alerts to a channel" takes it."""
    begin = as_many(facts(message.facts), lambda some: fits(card(message, some)))
    parts = [section_elements(section) for section in message.sections]
    shown = as_many(parts, lambda some: fits(card(message, [*begin, *chain(*some)])))
    rest = left_out(len(parts) - len(shown))
    return card(message, [*begin, *chain(*shown), *([text(rest)] if rest else [])])


def fits(whole: dict[str, Any]) -> bool:
    return len(json.dumps(whole)) <= BYTES


def card(message: Message, more: Sequence[Element]) -> dict[str, Any]:
    style = {"size": "Large", "weight": "Bolder", "color": COLOURS[tone_of(message)]}
    title = rich(fitted(message.title, TITLE, literal), **style)
    words = [text(message.text)] if message.text else []
    content = {
        "$schema": SCHEMA,
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": [title, *words, *more],
        "actions": [link(button_of(message), message.url)] if message.url else [],
    }
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "contentUrl": None, "content": content}]}


def literal(words: str) -> str:
    """Escape template functions such as `{{DATE(…)}}`. A rich text has no Markdown and no `<at>`."""
    return words.replace("{{", "{\u2060{")


def text(words: str, **style: str) -> Element:
    return rich(fitted(words, TEXT, literal), **style)


def rich(words: str, **style: str) -> Element:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": words or "–", **style}]}


def link(words: str, url: str) -> Element:
    return {"type": "Action.OpenUrl", "title": words, "url": url}


def facts(pairs: Sequence[tuple[str, str]]) -> list[Element]:
    return [columns(label, text(value)) for label, value in pairs]


def columns(label: str, right: Element) -> Element:
    """A label and its value in two columns. Not a FactSet, because its values are Markdown."""
    sides = ((1, text(label, weight="Bolder")), (3, right))
    found = [{"type": "Column", "width": width, "items": [item]} for width, item in sides]
    return {"type": "ColumnSet", "spacing": "Small", "columns": found}


def section_elements(section: Section) -> list[Element]:
    title = text(section.title, weight="Bolder", size="Medium") | {"separator": True, "spacing": "Large"}
    days = [(_("Day by day"), days_of(section))] if section.days else []
    tables = [
        columns(table.title, rich(lines_fitted(rows_of(table), TEXT, literal)))
        for table in section.tables
        if table.rows
    ]
    return [title, text(section.url), *facts([*section.facts, *days]), *tables]


def rows_of(table: BreakdownTable) -> list[str]:
    return [f"{digits(number)}  {name}" for name, number in table.rows]


TRANSPORT = Transport(
    label="Microsoft Teams",
    words=("microsoft_teams",),
    settings=(
        Setting(
            name="chat_d",
            label=_l("Workflow address"),
            kind="address",
            words=("microsoft_teams",),
            example="https://example.westeurope.logic.azure.com/workflows/0000/triggers/manual/paths/invoke",
            guidance=_l(
                "The whole address, also what follows “sig=”. Anyone who has it can post: keep it secret."
            ),
            is_secret=True,
        ),
    ),
    steps=(
        _l("In Teams, open the menu (…) of the channel and choose Workflows."),
        _l(
            "Choose “Send webhook alerts to a channel” (“Post to a channel when a webhook request is "
            "received”)."
        ),
        _l("Follow its pages, and copy the address that it shows at the end."),
    ),
    send=send,
)
