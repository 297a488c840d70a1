"""Transport to a space of Google Chat: an incoming webhook, with messages as cards in one thread a link."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.net.session import OutboundSession
from app.notifications.formatting import (
    as_many,
    button_of,
    days_of,
    fitted,
    left_out,
    lines_fitted,
    one_line,
)
from app.notifications.json_post import json_size, post_json, quote_service, read_object
from app.notifications.message import BreakdownTable, Message, Section
from app.notifications.transport import Delivered, DeliveryFailed, Setting, Transport

# developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create allows 32,000 bytes for a
# message, and of a card's widgets the first 100 are shown. The others are limits of our own
BYTES, WIDGETS, TITLE, TEXT = 30_000, 100, 200, 1000
# the statuses of google.rpc.Code with which Chat answers for a space, a webhook or a token that is no more
GONE = {"NOT_FOUND", "PERMISSION_DENIED", "UNAUTHENTICATED"}

Widget = dict[str, Any]


def send(fields: Mapping[str, str], message: Message, outbound: OutboundSession) -> Delivered:
    try:
        url = url_of(fields["google_chat"], message)
        return post_json(outbound, url, payload(message), is_gone, is_refused)
    except DeliveryFailed as refused:
        quote_service(refused, "Google Chat", error_of(refused.answer).get("message"))
        raise


def url_of(address: str, message: Message) -> str:
    """The webhook's address with the request's id: Chat makes one message of it, however often it comes."""
    more = {"messageReplyOption": "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD", "requestId": message.id}
    address = address.partition("#")[0]
    return f"{address}{'&' if '?' in address else '?'}{urlencode(more)}"


def error_of(body: str) -> dict[str, Any]:
    found = read_object(body).get("error")
    return found if isinstance(found, dict) else {}


def is_gone(status: int, body: str) -> bool:
    error = error_of(body)
    is_bad_key = "API_KEY_INVALID" in json.dumps(error.get("details"))
    return 400 <= status < 500 and (str(error.get("status")) in GONE or is_bad_key)


def is_refused(status: int, body: str) -> bool:
    return status == 400 and error_of(body).get("status") == "INVALID_ARGUMENT"


def payload(message: Message) -> dict[str, Any]:
    """The JSON of a message. `fallbackText` is what notifications show."""
    begin = [*text_widget(message.text)]
    end = [button(button_of(message), message.url)] if message.url else []
    facts = [fact(label, value) for label, value in message.facts]
    begin += as_many(facts, lambda some: fits(message, [section([*begin, *some, *end])]))
    parts = [section_of(one) for one in message.sections]
    shown = as_many(parts, lambda some: fits(message, [section([*begin, *end]), *some]))
    rest = text_widget(left_out(len(parts) - len(shown)))
    return whole(message, [section([*begin, *end, *rest] or text_widget(message.title)), *shown])


def fits(message: Message, sections: Sequence[dict[str, Any]]) -> bool:
    widgets = len([*chain(*(one["widgets"] for one in sections))])
    size = json_size(whole(message, sections))
    return widgets < WIDGETS and size <= BYTES - 200  # and the line on what was left out


def whole(message: Message, sections: Sequence[dict[str, Any]]) -> dict[str, Any]:
    title = fitted(one_line(message.title), TITLE)
    card = {"header": {"title": title, "subtitle": "Waypost"}, "sections": [*sections]}
    return {
        "fallbackText": title,
        "thread": {"threadKey": thread_key(message)},
        "cardsV2": [{"cardId": message.id, "card": card}],
    }


def thread_key(message: Message) -> str:
    """Messages about one link are one thread; reports and tests have threads of their own."""
    link = message.data.get("link")
    about = link.get("id") if isinstance(link, Mapping) else None
    return f"waypost-link-{about}" if about else f"waypost-{message.type}"


def section(widgets: Sequence[Widget], header: str = "") -> dict[str, Any]:
    named = {"header": escaped_within(header, TITLE)} if header else {}
    return {**named, "widgets": [*widgets]}


def escaped(text: str) -> str:
    """Escape text for cards, whose texts are simple HTML.

    developers.google.com/workspace/chat/format-messages#card-formatting
    """
    return html.escape(text, quote=False)


def escaped_within(text: str, most: int) -> str:
    return fitted(one_line(text), most, escaped) or "–"


def text_widget(text: str) -> list[Widget]:
    return [{"textParagraph": {"text": escaped_within(text, TEXT)}}] if text else []


def fact(label: str, value: str) -> Widget:
    return decorated(label, escaped_within(value, TEXT))


def decorated(label: str, text: str) -> Widget:
    """A text below its label. The label is plain text, the text is HTML."""
    top = fitted(one_line(label), TITLE)
    return {"decoratedText": {"topLabel": top, "text": text, "wrapText": True}}


def button(words: str, url: str) -> Widget:
    link = {"text": fitted(words, TITLE), "onClick": {"openLink": {"url": url}}}
    return {"buttonList": {"buttons": [link]}}


def section_of(one: Section) -> dict[str, Any]:
    days = [fact(_("Day by day"), days_of(one))] if one.days else []
    facts = [fact(label, value) for label, value in one.facts]
    tables = [decorated(table.title, table_of(table)) for table in one.tables if table.rows]
    return section([*text_widget(one.url), *facts, *days, *tables], one.title)


def table_of(table: BreakdownTable) -> str:
    lines = [f"{digits(number)}  {one_line(name)}" for name, number in table.rows]
    return lines_fitted(lines, TEXT, escaped)


TRANSPORT = Transport(
    label="Google Chat",
    settings=(
        Setting(
            name="google_chat",
            label=_l("Webhook address"),
            kind="address",
            example="https://chat.googleapis.com/v1/spaces/AAAAAAAAAAA/messages?key=XXXX&token=XXXX",
            guidance=_l(
                "The whole address, also what follows “token=”. Anyone who has it can post: keep it secret."
            ),
            is_secret=True,
        ),
    ),
    steps=(
        _l("Open chat.google.com in a browser, and the space that messages are to go to."),
        _l("Beside the space's title open the menu and choose Apps & integrations."),
        _l("Choose Webhooks, Add webhook, name it and save."),
        _l("Behind the new webhook open the menu (⋮) and choose Copy link."),
        _l("Webhooks need Google Workspace; its administrator may have switched them off."),
    ),
    send=send,
)
