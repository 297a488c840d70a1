"""Streaming JSON reader: the objects of a list of links, one at a time, however large the file is.

The list is the file itself, stands under one of `LIST_KEYS` (`{"shortUrls": {"data": [...]}}`), or is a
sequence of objects without a list around them, as logs have it. A broken object is reported, and reading goes
on in the line after the one it begins in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

from app.csv_files import escape_text
from app.transfer.cells import storable
from app.transfer.lines import MOST_LINE

LIST_KEYS = frozenset({"data", "links", "shortUrls", "short_urls", "results", "result", "items", "urls"})
BLOCK = 1 << 16
MAX_DEPTH = 32  # of what stands in one link; far below the recursion limit of the parser
MAX_BROKEN = 1_000  # each may make us read the same 2 MB again
NESTED_KEYS = 3  # levels at which the list is looked for

IN_STRING = re.compile(r'["\n]|\\.', re.DOTALL)
OUTSIDE = re.compile(r'["\[\]{}]')
SCALAR = re.compile(r".[^,\]}\s]*", re.DOTALL)
BLANK = re.compile(r"[\s,:\ufeff]*")

NOT_CLOSED = "This JSON is not closed."
NO_OBJECT = "This is no object of JSON."
TOO_DEEP = f"This JSON is nested more than {MAX_DEPTH} levels deep."
TOO_LONG = f"This object has more than {MOST_LINE:,} characters."


class Element(NamedTuple):
    """One member of the list, and the line it begins in. `problem` says why `value` is None."""

    line: int
    value: dict[str, Any] | None
    problem: str = ""


class Broken(Exception):
    """The end of a value can't be found; the text says why."""


class JsonText:
    """A text that is read in pieces. What was taken is forgotten."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.text, self.at, self.line = file, "", 0, 1

    def read_more(self) -> bool:
        block = self.file.read(BLOCK)
        self.text, self.at = self.text[self.at :] + block, 0
        return bool(block)

    def peek(self) -> str:
        """The next character that is neither white space nor a separator; "" at the end."""
        while True:
            match = BLANK.match(self.text, self.at)
            self.skip(match.end() - self.at if match else 0)
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.read_more():
                return ""

    def skip(self, count: int) -> None:
        self.line += self.text.count("\n", self.at, self.at + count)
        self.at += count

    def skip_line(self) -> None:
        while (end := self.text.find("\n", self.at)) < 0:
            self.at = len(self.text)
            if not self.read_more():
                return
        self.skip(end + 1 - self.at)

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
                self.require_short(length)
                if not self.read_more():
                    raise Broken(NOT_CLOSED)
                continue
            length = match.end() - self.at
            self.require_short(length)
            if match[0] == "\n":
                raise Broken(NOT_CLOSED)
            if match[0] == '"':
                in_string = not in_string
            elif not in_string:
                depth += 1 if match[0] in "[{" else -1
                deepest = max(deepest, depth)
            if depth == 0 and not in_string:
                return length, deepest

    def require_short(self, length: int) -> None:
        if length > MOST_LINE:
            raise Broken(TOO_LONG)

    def find_list(self, levels: int = NESTED_KEYS) -> bool:
        """Go to where the list begins. We are at an object, and behind it if it has none. Raises Broken."""
        self.skip(1)
        while (sign := self.peek()) and sign != "}":
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
        self.skip(1)
        return False


def elements(file: TextIO) -> Iterator[Element]:
    """Every member of the list in `file`, which is open at its beginning."""
    text = begin(file)
    is_list = text.peek() == "["
    if is_list:
        text.skip(1)
    broken = 0
    while (sign := text.peek()) and not (is_list and sign == "]"):
        line = text.line
        try:
            found = element(line, text.take())
        except Broken as error:
            found = Element(line, None, str(error))
            text.skip_line()
        yield found
        broken += bool(found.problem)
        if broken > MAX_BROKEN:
            return


def begin(file: TextIO) -> JsonText:
    """The text from where its list begins; from its first object where it has none."""
    text = JsonText(file)
    if text.peek() != "{":
        return text
    try:
        if text.find_list():
            return text
    except Broken:
        pass  # whatever it is, `elements` reports it
    file.seek(0)
    return JsonText(file)


def element(line: int, part: str) -> Element:
    if not part:
        return Element(line, None, TOO_DEEP)
    value = parsed(part)
    return Element(line, value) if isinstance(value, dict) else Element(line, None, NO_OBJECT)


def parsed(part: str) -> Any:
    """None for what is no JSON; a number of thousands of digits is none to Python."""
    try:
        return json.loads(part) if part else None
    except ValueError:
        return None


# --- as a table


def cells_of(value: dict[str, Any]) -> dict[str, str]:
    """An object as a row: what is nested gets names like `meta.validSince`."""
    return dict(flattened(value, ""))


def flattened(value: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, one in value.items():
        column = column_name(f"{prefix}{name}")
        if isinstance(one, dict) and one and prefix.count(".") < NESTED_KEYS:
            yield from flattened(one, f"{column}.")
        else:
            yield column, cell_of(one)


def column_name(name: str) -> str:
    """As it is stored and shown."""
    return storable(name[:100])


def cell_of(value: Any) -> str:
    """As a cell of CSV has it."""
    if isinstance(value, str):
        return escape_text(value)
    if value is None or value in ([], {}):
        return ""
    return json.dumps(value, ensure_ascii=False)
