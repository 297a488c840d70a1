"""Which rows stand in lines of separated values, however long a line is and wherever a quote is left open?"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from typing import TextIO

MOST_CELL = 100_000  # characters
MOST_LINE = 2_000_000  # characters; all that a link can say is less than half of it
MOST_LINES = 200  # of one row: a quote that is never closed would take the rest of the file
ENDS = ("\n", "\r")


class TooLong(Exception):
    """A line is left out: it would have to be in memory whole."""


def read_line(file: TextIO) -> str:
    """The next line, "" at the end of the file. Raises TooLong, and is behind the line then."""
    line = file.readline(MOST_LINE)
    if len(line) < MOST_LINE or line.endswith(ENDS):
        return line
    while line and not line.endswith(ENDS):
        line = file.readline(MOST_LINE)
    raise TooLong


def whole_lines(file: TextIO) -> Iterator[str]:
    """All but those that are too long."""
    while True:
        try:
            line = read_line(file)
        except TooLong:
            continue
        if not line:
            return
        yield line


class Lines:
    """Lines of a file, of which those of the row under way can be given back."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.given_back: deque[str] = deque()
        self.taken: list[str] = []
        self.number = 0

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        if len(self.taken) >= MOST_LINES:
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
        """All but the first line of the row that could not be read."""
        again = self.taken[1:]
        self.given_back.extendleft(reversed(again))
        self.number -= len(again)


def written(lines: Lines, delimiter: str) -> Iterator[tuple[int, list[str], str]]:
    """Those of `records` that say something."""
    for line, cells, problem in records(lines, delimiter):
        if problem or any(cell.strip() for cell in cells):
            yield line, cells, problem


def records(lines: Lines, delimiter: str) -> Iterator[tuple[int, list[str], str]]:
    """Line, cells and what is wrong, of each row, empty ones too."""
    csv.field_size_limit(MOST_CELL)
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
        yield line, cells, ""


def wording(error: str) -> str:
    """What the csv module says, for a person."""
    if "line too long" in error:
        return f"This line has more than {MOST_LINE:,} characters."
    if "field larger" in error:
        return f"A cell has more than {MOST_CELL:,} characters."
    if "expected after" in error:
        return "Something stands between a closing quote and the next cell."
    return "A quote is opened and not closed."
