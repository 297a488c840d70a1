"""Streaming reader of CSV that survives lines of any length and quotes that are never closed."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from typing import TextIO

from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export.readers.reader import MAX_LINE

MAX_CELL = 100_000  # characters
MAX_LINES = 200  # of one row: a quote that is never closed would take the rest of the file
ENDS = ("\n", "\r")


class TooLong(Exception):
    """A line is skipped because it is too long to be held in memory."""


def read_line(file: TextIO) -> str:
    """The next line, "" at the end of the file. Raises TooLong after skipping a line that is too long."""
    line = file.readline(MAX_LINE)
    if len(line) < MAX_LINE or line.endswith(ENDS):
        return line
    while line and not line.endswith(ENDS):
        line = file.readline(MAX_LINE)
    raise TooLong


def first_line(file: TextIO) -> str:
    """The first line that is neither empty nor too long; "" without one."""
    while True:
        try:
            line = read_line(file)
        except TooLong:
            continue
        if not line or line.strip():
            return line


class Lines:
    """Lines of a file. Those of the current row can be given back, to be read again."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.given_back: deque[str] = deque()
        self.taken: list[str] = []
        self.number = 0

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        if len(self.taken) >= MAX_LINES:
            raise csv.Error("a quote is opened and not closed")
        line = self.given_back.popleft() if self.given_back else self.read()
        self.taken.append(line)
        self.number += 1
        return line.replace("\0", "\ufffd")

    def read(self) -> str:
        try:
            if line := read_line(self.file):
                return line
        except TooLong:
            self.taken.append("")
            self.number += 1
            raise csv.Error("line too long") from None
        raise StopIteration

    def begin(self) -> None:
        self.taken = []

    def give_back(self) -> None:
        """Give back all but the first line of the row, which could not be read."""
        again = self.taken[1:]
        self.given_back.extendleft(reversed(again))
        self.number -= len(again)


def records(file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str], str]]:
    """Line, cells and problem of each row that is not empty."""
    csv.field_size_limit(MAX_CELL)
    lines = Lines(file)
    while True:
        lines.begin()
        line = lines.number + 1
        try:
            cells = next(csv.reader(lines, delimiter=delimiter, strict=True), None)
        except csv.Error as error:
            lines.give_back()
            yield line, [], wording(str(error))
            continue
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield line, cells, ""


def wording(error: str) -> str:
    """The csv module's error in words for the owner."""
    if "line too long" in error:
        return _l("This line has more than %(most)s characters.", most=lazy_digits(MAX_LINE))
    if "field larger" in error:
        return _l("A cell has more than %(most)s characters.", most=lazy_digits(MAX_CELL))
    if "expected after" in error:
        return _l("Something stands between a closing quote and the next cell.")
    return _l("A quote is opened and not closed.")
