"""Template of a webhook's body: text with placeholders such as `{{ event.type }}`, and nothing else.

It has no expressions, conditions or loops: a placeholder is one of a fixed list of names. What it prints is
escaped as JSON, so that nothing that people typed can end a string.
"""

# see docs/decisions/2026-11-25-body-templates.md
from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.core.clock import format_utc
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected
from app.notifications.formatting import in_plain_text
from app.notifications.message import Message

MAX_BYTES = 64 * 1024
PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
# a text that begins so is meant as JSON, so that a slip in it is reported
MEANT_AS_JSON = re.compile(r"\s*(?:\{(?!\{)|\[\s*[\[{\"])")
QUOTE, BACKSLASH = '"', "\\"


class Placeholder(NamedTuple):
    """What a placeholder prints, and the most bytes that it usually prints."""

    value: Callable[[Message], Any]
    most: int


def timestamp(message: Message) -> str:
    """The event's time as the standard payload has it."""
    return message.datetime.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def of_data(part: str, name: str, most: int) -> Placeholder:
    """A value of the event's data; None for events without that part."""

    def value(message: Message) -> Any:
        found = message.data.get(part)
        return found.get(name) if isinstance(found, Mapping) else None

    return Placeholder(value, most)


PLACEHOLDERS: Mapping[str, Placeholder] = {
    "event.id": Placeholder(lambda message: message.id, 64),
    "event.type": Placeholder(lambda message: message.type, 48),
    "event.datetime": Placeholder(lambda message: format_utc(message.datetime), 19),
    "event.timestamp": Placeholder(timestamp, 32),
    "event.title": Placeholder(lambda message: message.title, 1024),
    "event.text": Placeholder(lambda message: message.text, 1024),
    "event.message": Placeholder(in_plain_text, 16_384),
    "event.url": Placeholder(lambda message: message.url, 2048),
    "event.data": Placeholder(lambda message: message.data, 32_768),
    "link.id": of_data("link", "id", 20),
    "link.url": of_data("link", "url", 1024),
    "link.short_url": of_data("link", "short_url", 2048),
    "link.location_url": of_data("link", "location_url", 8192),
    "link.clicks": of_data("link", "clicks", 20),
    "handler.id": of_data("handler", "id", 20),
    "handler.name": of_data("handler", "name", 512),
    "handler.type": of_data("handler", "type", 32),
}


class BodyTooLong(ValueError):
    """What a template prints for a message is longer than MAX_BYTES."""


class TemplatePiece(NamedTuple):
    """A part of a template: literal text, or the name of a placeholder and whether it is within a string."""

    text: str
    name: str = ""
    is_in_string: bool = True


@dataclass(frozen=True)
class BodyTemplate:
    """A template that was read. `content_type` says what it prints."""

    pieces: Sequence[TemplatePiece]
    is_json: bool

    @property
    def content_type(self) -> str:
        return "application/json" if self.is_json else "text/plain; charset=utf-8"

    def render(self, message: Message) -> str:
        """The body for a message. Raises BodyTooLong."""
        body = "".join(printed(piece, message) if piece.name else piece.text for piece in self.pieces)
        if len(body.encode()) > MAX_BYTES:
            raise BodyTooLong
        return body


def printed(piece: TemplatePiece, message: Message) -> str:
    """The value as JSON; within a string its text, escaped as one, where a missing value prints nothing."""
    value = PLACEHOLDERS[piece.name].value(message)
    if not piece.is_in_string:
        return to_json(value)
    text = value if isinstance(value, str) else "" if value is None else to_json(value)
    return to_json(text)[1:-1]


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()


def read_template(text: str) -> BodyTemplate:
    """Read a template. Raises Rejected, which says what is wrong with it."""
    pieces = [*pieces_of(text)]
    most = sum(PLACEHOLDERS[one.name].most if one.name else len(one.text.encode()) for one in pieces)
    if most > MAX_BYTES:
        raise Rejected(_l("This may print more than 64 KiB: use fewer placeholders."), "too_long")
    marked = mark_strings(pieces)
    is_json = prints_json(marked)
    if not is_json and MEANT_AS_JSON.match(text):
        raise Rejected(_l("This begins like JSON, but it is not valid JSON."), "format")
    # outside of JSON everything is escaped like the text of a string
    return BodyTemplate(marked if is_json else pieces, is_json)


def pieces_of(text: str) -> Sequence[TemplatePiece]:
    found, end = [], 0
    for match in PLACEHOLDER.finditer(text):
        name = known_name(match[1].strip())
        found += [TemplatePiece(literal(text[end : match.start()])), TemplatePiece("", name)]
        end = match.end()
    return [one for one in [*found, TemplatePiece(literal(text[end:]))] if one.text or one.name]


def literal(text: str) -> str:
    if "{{" in text:
        raise Rejected(_l("This has {{ without a name and }} after it."), "format")
    return text


def known_name(name: str) -> str:
    if name not in PLACEHOLDERS:
        raise Rejected(
            _l(
                "There is no placeholder “%(name)s”. There are: %(known)s.",
                name=name[:64],
                known=", ".join(PLACEHOLDERS),
            ),
            "placeholder",
        )
    return name


def mark_strings(pieces: Sequence[TemplatePiece]) -> Sequence[TemplatePiece]:
    """The pieces, with each placeholder marked as within a string of JSON or not."""
    found, is_in_string = [], False
    for piece in pieces:
        is_in_string = ends_in_string(piece.text, is_in_string)
        found.append(piece._replace(is_in_string=is_in_string) if piece.name else piece)
    return found


def ends_in_string(text: str, is_in_string: bool) -> bool:
    """Whether a JSON text is within a string at its end, where it began within one or not."""
    is_escaped = False
    for character in text:
        if is_in_string and not is_escaped and character == BACKSLASH:
            is_escaped = True
            continue
        if character == QUOTE and not is_escaped:
            is_in_string = not is_in_string
        is_escaped = False
    return is_in_string


def prints_json(pieces: Sequence[TemplatePiece]) -> bool:
    """Whether a template prints JSON, whatever its placeholders stand for: it does with any value in each."""
    # `x` is valid within a string, but not after a backslash or in a number
    sample = "".join(("x" if one.is_in_string else "null") if one.name else one.text for one in pieces)
    try:
        json.loads(sample, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def refuse_constant(name: str) -> None:
    """Python reads NaN and Infinity, which are no JSON."""
    raise ValueError(name)
