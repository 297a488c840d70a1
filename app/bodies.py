"""What did the body of this request send, and can it be read at all?

`multipart/form-data`, `application/x-www-form-urlencoded` and a JSON object mean the same. Whatever is
not exactly well-formed is refused here, before a form sees it: Werkzeug's own reading lets bad UTF-8, NUL
and a multipart body that was cut off pass in silence.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from app import multipart
from app.errors import FieldError, Malformed, TooLarge, UnreadableType
from app.sent import Nested, Sent, Value

MOST_BYTES = 10 * 1024 * 1024
MOST_PARTS = 1000
MOST_DRAINED = 64 * 1024 * 1024
WORDS = {True: "true", False: "false", None: ""}
CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii"})

# None: a file control nobody touched, which is not sent but was a part
Pairs = list[tuple[str, Value | None]]


def read_sent() -> Sent:
    """The fields of the current request.

    Raises UnreadableType for a type that is none of the three, Malformed for a body that is broken, and
    TooLarge for one of more than 10 MiB or 1,000 fields; in this order.
    """
    read = reader()
    body = whole_body()
    if read is None and body:
        raise UnreadableType(FieldError("The body came without a content type.", "content_type"))
    pairs = checked(read(body)) if read else []
    if read is not json_object:  # its arrays are one field of many members
        require_few(pairs)
    return Sent((name, value) for name, value in pairs if value is not None)


def read_query() -> list[tuple[str, str]]:
    """The parameters of the current request's address, as strictly, in order."""
    pairs = checked(urlencoded(request.query_string))
    return [(name, str(value)) for name, value in pairs]


def reader() -> Callable[[bytes], Pairs] | None:
    """Who reads this content type; None when none is named."""
    if not request.content_type:
        return None
    found = READERS.get(request.mimetype)
    charset = request.mimetype_params.get("charset", "").lower()
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if found is None or charset not in CHARSETS or encoding != "identity":
        known = ", ".join(READERS)
        raise UnreadableType(FieldError(f"The body must be one of {known}, in UTF-8.", "content_type"))
    return found


def whole_body() -> bytes:
    """All of it. One byte more than allowed, for a chunked body is cut at its limit in silence."""
    request.max_content_length = MOST_BYTES + 1
    try:
        body = request.get_data()
    except RequestEntityTooLarge:
        raise too_large() from None
    except (ClientDisconnected, OSError):
        raise malformed("The body ended early.") from None
    if len(body) > MOST_BYTES:
        raise too_large()
    if request.content_length not in {None, len(body)}:
        raise malformed("The body ended early.")
    return body


def too_large() -> TooLarge:
    drain()
    return TooLarge(FieldError(f"The body may have at most {MOST_BYTES >> 20} MiB.", "too_large"))


def drain() -> None:
    """Read on for a while: who is still sending when the answer comes sees a broken connection instead."""
    if not request.environ.get("wsgi.input_terminated"):
        return  # nobody says where this body ends
    if (request.content_length or 0) > MOST_DRAINED:
        return  # its end is out of reach, and who sends nothing before the answer would wait for ever
    left, stream = MOST_DRAINED, request.environ["wsgi.input"]
    while left > 0 and (piece := stream.read(65536)):
        left -= len(piece)


def checked(pairs: Pairs) -> Pairs:
    """The same pairs, where every name and text can be stored."""
    for name, value in pairs:
        if not name or has_control(name):
            raise malformed("A field has no name, or a control character in it.")
        if isinstance(value, str) and "\0" in value:
            raise malformed("A field contains NUL.")
    return pairs


def require_few(pairs: Pairs) -> None:
    if len(pairs) > MOST_PARTS:
        raise TooLarge(FieldError(f"There may be at most {MOST_PARTS:,} fields.", "too_many_fields"))


def has_control(name: str) -> bool:
    return any(unicodedata.category(character) == "Cc" for character in name)


def malformed(text: str) -> Malformed:
    return Malformed(FieldError(text, "malformed"))


def form_data(body: bytes) -> Pairs:
    try:
        return list(multipart.fields(body, request.mimetype_params.get("boundary", "")))
    except ValueError as error:
        raise malformed(f"The multipart body is broken: {error}.") from None


def urlencoded(body: bytes) -> Pairs:
    """As the URL standard reads it: `+` is a space, a `%` that encodes nothing stays as it is."""
    try:
        pairs = (pair.partition(b"=") for pair in body.split(b"&") if pair)
        return [(plain(name), plain(value)) for name, _, value in pairs]
    except ValueError:
        raise malformed("This is not UTF-8.") from None


def plain(encoded: bytes) -> str:
    return unquote_to_bytes(encoded.replace(b"+", b" ")).decode()


def json_object(body: bytes) -> Pairs:
    """A JSON object's members; numbers keep the text they were sent as, so that 1.0 is not 1."""
    try:
        found = json.loads(body.decode(), parse_int=str, parse_float=str, parse_constant=refuse)
        for text in texts(found):
            require_storable(text)
    except (ValueError, RecursionError):
        raise malformed("The body is not well-formed JSON in UTF-8.") from None
    if not isinstance(found, dict):
        raise malformed("The body must be a JSON object.")
    return [pair for name, value in found.items() for pair in members(name, value)]


def refuse(constant: str) -> None:
    raise ValueError(constant)


def require_storable(text: str) -> None:
    """No lone surrogate, no NUL: neither can be written anywhere."""
    if "\0" in text:
        raise ValueError("NUL")
    text.encode()


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


def members(name: str, value: Any) -> Pairs:
    """One pair, or one for each member of an array; an empty array is "sent empty"."""
    if isinstance(value, list):
        return [(name, single(member)) for member in value] or [(name, "")]
    return [(name, single(value))]


def single(value: Any) -> Value:
    if isinstance(value, str):
        return value
    return Nested() if isinstance(value, list | dict) else WORDS[value]


READERS: dict[str, Callable[[bytes], Pairs]] = {
    "multipart/form-data": form_data,
    "application/x-www-form-urlencoded": urlencoded,
    "application/json": json_object,
}
