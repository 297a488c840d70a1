"""Streaming JSON reader: the objects of a list of links, one at a time, however large the file is.

The list is the file itself, or is under one of `LIST_KEYS` (`{"shortUrls": {"data": [...]}}`), or is a
sequence of objects without a list around them, as in logs. A broken object is reported, and reading goes on
in the line after the one it begins in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from app.core.csv_files import escape_text
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export.readers.reader import (
    MAX_BROKEN,
    MAX_LINE,
    Broken,
    Element,
    FormatReader,
    TextBuffer,
    storable,
)

LIST_KEYS = frozenset({"data", "links", "shortUrls", "short_urls", "results", "result", "items", "urls"})
MAX_OBJECT = 10_000_000  # characters: those of a line, and 7.7 million of two pictures in base64
MAX_DEPTH = 32  # of the values in one link; far below the recursion limit of the parser
NESTED_KEYS = 3  # levels at which the list is looked for

IN_STRING = re.compile(r'["\n]|\\.', re.DOTALL)
OUTSIDE = re.compile(r'["\[\]{}]')
SCALAR = re.compile(r".[^,\]}\s]*", re.DOTALL)
COUNTRY = re.compile(r"[A-Z]{2}")
BLANK = re.compile(r"[\s,:\ufeff]*")

NOT_CLOSED = _l("This JSON is not closed.")
NO_OBJECT = _l("This is not a JSON object.")
TOO_DEEP = _l("This JSON is nested more than %(most)s levels deep.", most=MAX_DEPTH)
TOO_LONG = _l(
    "This object has more than %(most)s characters. A picture may have 5 MiB.",
    most=lazy_digits(MAX_OBJECT),
)


class JsonText(TextBuffer):
    """The JSON text at the current position.

    `depth` is the number of objects around the current list. `broken` counts unreadable values, long ones
    several times.
    """

    def __init__(self, file: TextIO) -> None:
        super().__init__(file)
        self.depth = self.broken = 0

    def peek(self) -> str:
        """The next character that is neither white space nor a separator; "" at the end."""
        while True:
            match = BLANK.match(self.text, self.at)
            self.skip(match.end() - self.at if match else 0)
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.read_more():
                return ""

    def take(self) -> str:
        """The value that begins here, as text; "" where it is nested too deep. Raises Broken."""
        length, depth = self.measure()
        part = self.text[self.at : self.at + length]
        self.skip(length)
        return part if depth <= MAX_DEPTH else ""

    def measure(self) -> tuple[int, int]:
        """Length and depth of the value that begins here. Raises Broken."""
        if self.text[self.at] not in '"[{':
            match = SCALAR.match(self.text, self.at)
            return (match.end() - self.at if match else 1), 0
        length, depth, deepest, in_string = 0, 0, 0, False
        while True:
            match = (IN_STRING if in_string else OUTSIDE).search(self.text, self.at + length)
            if match is None:
                # the last character may be the first half of an escape
                length = max(length, len(self.text) - self.at - 1)
                self.require_short(length, TOO_LONG, MAX_OBJECT)
                if not self.read_more():
                    raise Broken(NOT_CLOSED)
                continue
            length = match.end() - self.at
            self.require_short(length, TOO_LONG, MAX_OBJECT)
            if match[0] == "\n":
                raise Broken(NOT_CLOSED)
            if match[0] == '"':
                in_string = not in_string
            elif not in_string:
                depth += 1 if match[0] in "[{" else -1
                deepest = max(deepest, depth)
            if depth == 0 and not in_string:
                return length, deepest

    def find_list(self, levels: int = NESTED_KEYS) -> bool:
        """Go to the beginning of the list in the object that begins here. Raises Broken.

        False where the object has no list; the position is then behind it. Sets `depth`.
        """
        self.skip(1)
        self.depth += 1
        while (sign := self.peek()) and sign != "}":
            self.step()
            key = parsed(self.take()) if sign == '"' else None
            if (after := self.peek()) in {"", "}"}:
                continue
            if key in LIST_KEYS and after == "[":
                return True
            if key in LIST_KEYS and after == "{" and levels > 1:
                if self.find_list(levels - 1):
                    return True
            else:
                self.take()
        self.leave_object()
        return False

    def leave_object(self) -> None:
        while (sign := self.peek()) and sign != "}":
            self.step()
            self.take()
        self.skip(1)
        self.depth -= 1

    def find_next_list(self) -> bool:
        """Go from the end of a list into the list of the next page. Raises Broken.

        A file may contain several pages of an API one after the other.
        """
        is_page = self.depth > 0
        self.skip(1)
        while self.depth > 0:
            self.leave_object()
        return is_page and self.peek() == "{" and self.find_list()


def elements(file: TextIO) -> Iterator[Element]:
    """Every member of the list in `file`, which is open at its beginning."""
    text = begin(file)
    while True:
        for found in members(text):
            text.steps = 0
            yield found
            text.broken += bool(found.problem)
            if text.broken > MAX_BROKEN:
                return
        line = text.line
        try:
            if not text.find_next_list():
                return
        except Broken as error:
            yield Element(line, None, error.args[0])
            return


def members(text: JsonText) -> Iterator[Element]:
    """The members of the list that begins here, up to its end."""
    is_list = text.peek() == "["
    if is_list:
        text.skip(1)
    while (sign := text.peek()) and not (is_list and sign == "]"):
        line = text.line
        try:
            yield element(line, text.take())
        except Broken as error:
            text.broken += (len(text.text) - text.at) // MAX_LINE
            yield Element(line, None, error.args[0])
            text.skip_line()


def begin(file: TextIO) -> JsonText:
    """The text from the beginning of its list; without a list, from its first object."""
    text = JsonText(file)
    if text.peek() != "{":
        return text
    try:
        if text.find_list():
            return text
    except Broken:
        pass  # `elements` meets the same error, and reports it
    file.seek(0)
    return JsonText(file)


def element(line: int, part: str) -> Element:
    if not part:
        return Element(line, None, TOO_DEEP)
    value = parsed(part)
    return Element(line, value) if isinstance(value, dict) else Element(line, None, NO_OBJECT)


def parsed(part: str) -> Any:
    """The value of a JSON text; None for invalid JSON, and for numbers of thousands of digits."""
    try:
        return json.loads(part) if part else None
    except ValueError:
        return None


# --- as a table


def cells_of(value: Mapping[str, Any]) -> dict[str, str]:
    """An object as a row of texts. Nested fields get names like `meta.validSince`."""
    return dict(flattened(value, ""))


def flattened(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, one in value.items():
        column = column_name(f"{prefix}{name}")
        if is_nested(one) and prefix.count(".") < NESTED_KEYS:
            yield from flattened(one, f"{column}.")
        else:
            yield column, cell_of(one)


def is_nested(value: Any) -> bool:
    """Whether the keys are names of fields. A table by country (`{"DE": …, "US": …}`) stays one cell."""
    return isinstance(value, dict) and bool(value) and not all(map(COUNTRY.fullmatch, value))


def column_name(name: str) -> str:
    """The name of a column as it is stored and shown."""
    return storable(name[:100])


def cell_of(value: Any) -> str:
    """A value as the text of a CSV cell."""
    if isinstance(value, str):
        return escape_text(value)
    if value is None or value in ([], {}):
        return ""
    return json.dumps(value, ensure_ascii=False)


READER = FormatReader(
    lambda head: head.lstrip()[:1] in {"[", "{"}, elements, _l("There is no list of links in this JSON.")
)
