"""Strict parser of `multipart/form-data` bodies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from werkzeug.datastructures import Headers
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Event, Field, File, MultipartDecoder, NeedData

from app.input.data import Upload, Value

# the characters of RFC 2046, but not its length of 70: some clients exceed it
BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,199}[0-9A-Za-z'()+_,./:=?-]", re.ASCII)
HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:[^\x00-\x08\x0a-\x1f\x7f]*")
BREAK = re.compile(rb"[\r\n]")
MAX_TAIL = 80  # line breaks, dashes and blanks around a boundary
LINE_BREAKS = (b"\r", b"\n")
# behind the boundary: the last one has two more dashes
TAIL = re.compile(rb"(--[^\S\n\r]*(?:\r\n|\n|\r)?|[^\S\n\r]*(?:\r\n|\n|\r))")
MAX_HEAD = 64 * 1024  # also the bound of data that is kept back because a boundary may begin in it
MAX_HEADS = 1024 * 1024  # all heads of a body together: a parameter of a head costs 3 µs
MAX_FALSE_MARKS = 100
ENCODINGS = frozenset({"7bit", "8bit", "binary"})
CHARSETS = frozenset({"utf-8", "us-ascii", "ascii", "iso-8859-1"})


class DelimiterMatch(NamedTuple):
    """A delimiter that was found in a body. It has the methods of `re.Match` that Werkzeug calls."""

    first: int
    tail: re.Match[bytes]

    def start(self) -> int:
        return self.first

    def end(self) -> int:
        return self.tail.end()

    def group(self, number: int) -> bytes:
        return self.tail.group(number)


class Delimiter:
    """Finds delimiters in place of Werkzeug's patterns.

    Werkzeug compiles two patterns for each boundary, and every request has a new one: that took longer than
    all else about a small body. Only a body with many false matches of the boundary gets a compiled pattern.
    """

    def __init__(self, boundary: bytes, *, needs_break: bool) -> None:
        self.mark, self.needs_break = b"--" + boundary, needs_break

    def search(self, data: bytes | bytearray, position: int = 0) -> DelimiterMatch | re.Match[bytes] | None:
        at = data.find(self.mark, position)
        for _ in range(MAX_FALSE_MARKS):
            if at < 0:
                return None
            start = at - len(line_break_before(data, at, position))
            tail = TAIL.match(data, at + len(self.mark))
            if tail and (start < at or not self.needs_break):
                return DelimiterMatch(start, tail)
            at = data.find(self.mark, at + 1)
        return self.pattern.search(data, max(position, at - 2)) if at >= 0 else None

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        line_break = rb"(?:\r\n|\n|\r)" + (b"" if self.needs_break else b"?")
        return re.compile(line_break + re.escape(self.mark) + TAIL.pattern)


def line_break_before(data: bytes | bytearray, at: int, position: int) -> bytes:
    before = bytes(data[max(position, at - 2) : at])
    return b"\r\n" if before == b"\r\n" else before[-1:] if before[-1:] in LINE_BREAKS else b""


class StrictDecoder(MultipartDecoder):
    """Refuses part headers that Werkzeug tolerates: folded or broken ones, and control characters in them."""

    def __init__(self, boundary: bytes) -> None:
        super().__init__(b"")  # the patterns of this boundary are compiled already
        self.boundary = boundary
        self.heads = 0  # bytes of all heads so far
        self.preamble_re: Any = Delimiter(boundary, needs_break=False)
        self.boundary_re: Any = Delimiter(boundary, needs_break=True)

    def _last_partial_boundary_index(self, data: bytes | bytearray) -> int:
        """The position from which on an incomplete boundary may have begun.

        (Werkzeug's own method passes the CR of one as content where a piece ends right after its dashes.)
        """
        start = max(0, len(data) - len(self.boundary) - MAX_TAIL)
        found = BREAK.search(data, start)
        return found.start() if found else len(data)

    def _parse_headers(self, data: bytes | bytearray) -> Headers:
        self.heads += len(data)
        if len(data) > MAX_HEAD or self.heads > MAX_HEADS:
            raise ValueError("the heads of its parts are too long")
        for line in bytes(data).replace(b"\r\n", b"\n").strip(b"\n").split(b"\n"):
            if not HEADER.fullmatch(line):
                raise ValueError("the head of a part is not well-formed")
        return super()._parse_headers(data)


def fields(body: bytes, boundary: str) -> Iterator[tuple[str, Value | None]]:
    """Names and values in order. None is an untouched file control (no name, no content).

    Raises ValueError for a body that is not whole and well-formed: one that is cut off, has unnamed parts, or
    bytes that are not text in the encoding they declare.
    """
    if not BOUNDARY.fullmatch(boundary):
        raise ValueError("its boundary is missing or not allowed")
    for head, content in parts(body, boundary):
        yield head.name, read(head, content)


def streamed(pieces: Iterable[bytes], boundary: str) -> Iterator[Event]:
    """Part headers and pieces of content of a body that may be larger than memory. Raises ValueError."""
    if not BOUNDARY.fullmatch(boundary):
        raise ValueError("its boundary is missing or not allowed")
    decoder = StrictDecoder(boundary.encode("ascii"))
    for piece in pieces:
        decoder.receive_data(piece)
        while not isinstance(event := following(decoder), NeedData):
            if isinstance(event, Field | File):
                require_plain(event)
            yield event
        if len(decoder.buffer) > MAX_HEAD:
            raise ValueError("the head of a part is too long")
    decoder.receive_data(None)
    while not isinstance(event := following(decoder), Epilogue):
        yield event


def parts(body: bytes, boundary: str) -> Iterator[tuple[Field | File, bytes]]:
    decoder = StrictDecoder(boundary.encode("ascii"))
    decoder.receive_data(body)
    decoder.receive_data(None)  # nothing more comes: running out of data is an error from here
    head: Field | File | None = None
    content = bytearray()
    while not isinstance(event := following(decoder), Epilogue):
        if isinstance(event, Field | File):
            head, content = event, bytearray()
        elif isinstance(event, Data) and head is not None:
            content += event.data if event.more_data or content else b""
            if not event.more_data:
                yield head, bytes(content) or event.data


def following(decoder: MultipartDecoder) -> Event:
    try:
        return decoder.next_event()
    except UnicodeDecodeError:
        raise ValueError("the head of a part is not UTF-8") from None
    except ValueError as error:
        if "cannot parse beyond" in str(error):  # Werkzeug's words for running out of data
            raise ValueError("it is cut off") from None
        raise


def read(head: Field | File, content: bytes) -> Value | None:
    require_plain(head)
    if isinstance(head, Field):
        return content.decode(charset(head.headers))
    if not head.filename and not content:
        return None
    if "\0" in head.filename:
        raise ValueError("the name of a file contains NUL")
    return Upload(head.filename, content)


def require_plain(head: Field | File) -> None:
    kind, _ = parse_options_header(head.headers.get("Content-Disposition"))
    if kind.lower() != "form-data" or not head.name:
        raise ValueError("a part has no name")
    if head.headers.get("Content-Transfer-Encoding", "binary").lower() not in ENCODINGS:
        raise ValueError("a part has a transfer encoding, which is not used in forms")


def charset(headers: Headers) -> str:
    """The character set that a text part declares (Java's clients declare ISO-8859-1); else UTF-8."""
    _, options = parse_options_header(headers.get("Content-Type"))
    named = options.get("charset", "utf-8").lower()
    if named not in CHARSETS:
        raise ValueError("a part is in a character set that is not known")
    return named
