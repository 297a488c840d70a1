"""Strict parsing of request bodies and queries.

`multipart/form-data`, `application/x-www-form-urlencoded` and a JSON object mean the same. What is not
exactly well-formed is refused here, before a form sees it: Werkzeug's own parser accepts bad UTF-8, NUL and a
multipart body that was cut off without an error. A body over a limit is refused as soon as that is seen
(docs/decisions/2026-11-20-bodies.md).
"""

# see docs/decisions/2026-11-22-query-limits.md
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

from flask import request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from app.core.errors import FieldError, Invalid, Malformed, TooLarge, UnsupportedMediaType
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.data import JsonValue, Nested, RequestData, Value
from app.input.params import MAX_QUERY
from app.web import multipart, text_bodies

MAX_BYTES = 10 * 1024 * 1024
#: of a form that needs no sign-in: a password, a code, an address
MAX_SMALL_BYTES = 64 * 1024
MAX_PARTS = 1000
# in the environ of a request whose connection ended before its body did
IS_TORN = "waypost.body_is_torn"
WORDS = {True: "true", False: "false"}
CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii"})
SENT, QUERY = "waypost.sent", "waypost.query"  # where a request's environment keeps what was parsed
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")  # all of Unicode's category Cc

# None: an untouched file control, which browsers send as an empty part but which means "not sent"
Pairs = Iterable[tuple[str, Value | None]]


def read_sent(max_bytes: int = MAX_BYTES) -> RequestData:
    """The fields of the current request, parsed once for all callers.

    Raises UnsupportedMediaType for a type that is none of the three, Malformed for a broken body, and
    TooLarge for one of more than `max_bytes` or 1,000 fields, whichever comes first in it.
    """
    if SENT not in request.environ:
        keep_sent(parse_body(max_bytes))
    found: RequestData = request.environ[SENT]
    return found


def keep_sent(fields: RequestData) -> None:
    """Stores the fields of the current request for later calls of `read_sent`."""
    request.environ[SENT] = fields


def parse_body(max_bytes: int) -> RequestData:
    read = reader()
    body = whole_body(max_bytes)
    if read is None and body:
        raise UnsupportedMediaType(FieldError("The body came without a content type.", "content_type"))
    pairs = read(body) if read else ()
    return RequestData((name, value) for name, value in pairs if value is not None)


def read_query() -> list[tuple[str, str]]:
    """The query parameters of the current request in order, parsed as strictly, once for all callers.

    Raises Malformed, and Invalid for more than 1,000.
    """
    if QUERY not in request.environ:
        request.environ[QUERY] = parse_query(request.query_string)
    found: list[tuple[str, str]] = request.environ[QUERY]
    return found


def read_params() -> dict[str, str]:
    """The query parameters of the current request by name, of one sent twice the last.

    Raises Malformed, Invalid.
    """
    return dict(read_query())


def read_list_query() -> list[tuple[str, str]]:
    """The same for a list, whose answer repeats the query in the addresses of its pages.

    Raises Invalid too for a query that is too long for that.
    """
    pairs = read_query()
    if len(urlencode(pairs)) > MAX_QUERY:
        text = _l("The query may have at most %(most)s characters.", most=lazy_digits(MAX_QUERY))
        raise Invalid(FieldError(text, "query_too_long"))
    return pairs


def parse_query(query: bytes) -> list[tuple[str, str]]:
    """The parameters of a query in order. Raises Malformed, and Invalid for more than 1,000 parameters."""
    try:
        return [(name, str(value)) for name, value in form_fields(query)]
    except TooLarge:
        text = _l("There may be at most %(most)s parameters.", most=lazy_digits(MAX_PARTS))
        raise Invalid(FieldError(text, "too_many_parameters")) from None


def reader() -> Callable[[bytes], Pairs] | None:
    """The parser of the request's content type; None where none is named."""
    if not request.content_type:
        return None
    found = READERS.get(request.mimetype)
    charset = request.mimetype_params.get("charset", "").lower()
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if found is None or charset not in CHARSETS or encoding != "identity":
        known = ", ".join(READERS)
        raise UnsupportedMediaType(FieldError(f"The body must be one of {known}, in UTF-8.", "content_type"))
    return found


def whole_body(max_bytes: int = MAX_BYTES) -> bytes:
    """The whole body. One byte more than allowed is read, for Werkzeug cuts a chunked body at its limit
    without an error."""
    request.max_content_length = max_bytes + 1
    try:
        body = request.get_data()
    except RequestEntityTooLarge:
        raise too_large(max_bytes) from None
    except (ClientDisconnected, OSError):
        raise malformed("The body ended early.") from None
    if len(body) > max_bytes:
        raise too_large(max_bytes)
    if request.content_length not in {None, len(body)}:
        raise malformed("The body ended early.")
    return body


def too_large(max_bytes: int) -> TooLarge:
    return TooLarge(FieldError(f"The body may have at most {max_bytes >> 10:,} KiB.", "too_large"))


def require_whole_request() -> None:
    """Raises Malformed for a request that broke off, also where the endpoint does not read its body."""
    if request.environ.get(IS_TORN):
        reader()  # an unsupported type is reported first
        raise malformed("The body ended early.")


def checked(pairs: Pairs) -> Iterator[tuple[str, Value | None]]:
    """The same pairs, checked: every name and text can be stored. Stops at the first that is one too many."""
    for number, (name, value) in enumerate(pairs, 1):
        if number > MAX_PARTS:
            raise TooLarge(
                FieldError(
                    _l("There may be at most %(most)s fields.", most=lazy_digits(MAX_PARTS)),
                    "too_many_fields",
                )
            )
        if not name or has_control(name):
            raise malformed(_l("A field has no name, or a control character in it."))
        if isinstance(value, str) and "\0" in value:
            raise malformed(_l("A field contains NUL."))
        yield name, value


def has_control(name: str) -> bool:
    return CONTROL.search(name) is not None


def malformed(text: str) -> Malformed:
    return Malformed(FieldError(text, "malformed"))


def form_data(body: bytes) -> Pairs:
    try:
        yield from checked(multipart.fields(body, request.mimetype_params.get("boundary", "")))
    except ValueError as error:
        raise malformed(f"The multipart body is broken: {error}.") from None


def form_fields(body: bytes) -> Pairs:
    try:
        yield from checked(text_bodies.fields(body))
    except ValueError:
        raise malformed(_l("This is not UTF-8.")) from None


def json_fields(body: bytes) -> Pairs:
    """The members of a JSON object as fields. An array is one field with several members."""
    try:
        found = text_bodies.parse(body)
    except ValueError:
        raise malformed("The body is not a well-formed JSON object in UTF-8.") from None
    for name, value in checked(found.items()):
        yield from members(name, value)


def members(name: str, value: Any) -> list[tuple[str, Value]]:
    """One pair, or one for each member of an array; an empty array is "sent empty"."""
    if isinstance(value, list):
        return [(name, in_array(single(member))) for member in value] or [(name, in_array(""))]
    return [(name, single(value))]


def single(value: Any) -> Value:
    if value is None:
        return ""
    if isinstance(value, bool):
        return text_bodies.literal(WORDS[value])
    if isinstance(value, dict):
        return Nested(RequestData(pair for name, inner in value.items() for pair in members(name, inner)))
    return value if isinstance(value, str) else Nested()


def in_array(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    found = JsonValue(value)
    found.is_literal, found.is_member = getattr(value, "is_literal", False), True
    return found


READERS: dict[str, Callable[[bytes], Pairs]] = {
    "multipart/form-data": form_data,
    "application/x-www-form-urlencoded": form_fields,
    "application/json": json_fields,
}
