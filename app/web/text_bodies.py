"""Strict parsers of JSON objects, and of URL-encoded text: the body of a form, or the query of an address.

Of JSON, a great depth or number of values is refused before any of them is built.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from app.core.errors import FieldError, Invalid, TooLarge
from app.input.data import JsonValue

MAX_VALUES = 10_000
MAX_DEPTH = 100
# One match is all up to the next structural character. Strings are skipped, also one that never ends. The
# quantifiers are possessive, so that nothing is ever read twice.
STRUCTURE = re.compile(rb'(?:[^"\[\]{},]|"(?:[^"\\]|\\.)*+"?)*+([\[\]{},]|\Z)', re.DOTALL)


SURROGATE = re.compile("[\ud800-\udfff]")
OPENING = frozenset({b"[", b"{"})
CLOSING = frozenset({b"]", b"}"})


def parse(body: bytes) -> dict[str, Any]:
    """The members of the object. Numbers keep the text they were sent as, so that 1.0 is not 1.

    Whole numbers are texts, for ids are often sent as strings. Other numbers are literals.

    Raises ValueError for anything but a well-formed object, Invalid for a great depth and for half a
    surrogate pair, and TooLarge for a great number of values.
    """
    require_bounded(body)
    found = json.loads(body.decode(), parse_int=str, parse_float=literal, parse_constant=refuse)
    if not isinstance(found, dict):
        raise ValueError("it is not an object")  # noqa: TRY004  malformed, as all else here
    if any("\0" in text for text in texts(found)):
        raise ValueError("NUL")
    require_unicode(found)
    return found


def require_bounded(body: bytes) -> None:
    """Counts brackets and commas outside of strings, and stops at the first one over a limit.

    Ends with the outermost value. JSON that is not well-formed is left to the parser.
    """
    depth = values = 0
    for match in STRUCTURE.finditer(body):
        if match[1] in OPENING:
            depth += 1
        elif match[1] in CLOSING:
            depth -= 1
        if depth <= 0:
            return
        values += match[1] not in CLOSING
        if depth > MAX_DEPTH:
            raise Invalid(FieldError(f"JSON may be nested at most {MAX_DEPTH} deep.", "too_deep"))
        if values > MAX_VALUES:
            raise TooLarge(FieldError(f"JSON may have at most {MAX_VALUES:,} values.", "too_many_fields"))


def literal(text: str) -> JsonValue:
    found = JsonValue(text)
    found.is_literal = True
    return found


def refuse(constant: str) -> None:
    raise ValueError(constant)


def require_unicode(found: dict[str, Any]) -> None:
    """Raises Invalid for half a surrogate pair.

    JSON can express it (a backslash and `ud800`), but no database and no response can carry it.
    """
    broken = [name for name, value in found.items() if not is_unicode(name, *texts(value))]
    if broken:
        title = "This contains half of a surrogate pair, which is no character."
        raise Invalid(
            *(FieldError(title, "surrogate", name if is_unicode(name) else None) for name in broken)
        )


def is_unicode(*values: str) -> bool:
    return not any(SURROGATE.search(text) for text in values)


def texts(found: Any) -> Iterator[str]:
    """Every text anywhere in `found`, names too."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict):
        for name, value in found.items():
            yield name
            yield from texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from texts(value)


PAIR = re.compile(rb"[^&]+")
STRAY_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
WINDOW_BYTES = 16 * 1024


def fields(body: bytes) -> Iterator[tuple[str, str]]:
    """Names and values in order, one pair at a time, so that the caller can stop at any of them.

    Follows the URL standard: `+` is a space, a `%` that encodes nothing stays as it is. Raises ValueError for
    bytes that are not UTF-8.
    """
    for pair in PAIR.finditer(body):
        name, _, value = pair[0].partition(b"=")
        yield decode(name), decode(value)


def decode(encoded: bytes) -> str:
    """The text of one name or value. Raises ValueError."""
    spaced = encoded.replace(b"+", b" ")
    return decode_percent(spaced).decode() if b"%" in spaced else spaced.decode()


def decode_percent(encoded: bytes) -> bytes:
    """The decoded bytes of percent-encoded ones.

    They are decoded in windows of a fixed size: all at once, 10 MiB of percent signs would take a gigabyte.
    No window ends within an escape.
    """
    found, start = bytearray(), 0
    while start < len(encoded):
        end = start + WINDOW_BYTES
        if end < len(encoded) and (percent := encoded.rfind(b"%", end - 2, end)) >= 0:
            end = percent
        found += decode_window(encoded[start:end])
        start = end
    return bytes(found)


def decode_window(encoded: bytes) -> bytes:
    """Decodes one window by the decoder of quoted-printable, which is the same notation with `=` for `%`.

    That one is compiled, and ten times as fast as `urllib.parse.unquote_to_bytes`, which makes an object of
    each escape.
    """
    escaped = STRAY_PERCENT.sub(b"%25", encoded).replace(b"=", b"%3D").replace(b"%", b"=")
    return binascii.a2b_qp(escaped)
