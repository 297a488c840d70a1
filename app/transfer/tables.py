"""Which rows does a file of separated values have, whatever wrote it?

Other people's files come in many encodings, with commas, semicolons or tabs, with headings or without,
and with a quote that is never closed. A row that can't be read says why, and the next one is read.
"""

from __future__ import annotations

import codecs
import csv
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

from app.transfer.objects import objects, texts_of

MOST_COLUMNS = 100
MOST_CELL = 100_000  # characters
MOST_LINES = 200  # of one row: a quote that is never closed would take the rest of the file
DELIMITERS = ",;\t|"
JSON = "json"  # in the place of what separates cells
BLOCK = 1 << 20
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class Unreadable(Exception):
    """This file is no table. The text says why, for a person."""


class Row(NamedTuple):
    """`number` counts rows from 1, `line` is where it begins in the file. `problem`: why it can't be read."""

    number: int
    line: int
    cells: dict[str, str]
    problem: str = ""


@dataclass(frozen=True)
class Table:
    """How a file is to be read. `columns` are its headings, or `Column 1` … where it has none."""

    path: Path
    encoding: str
    delimiter: str
    columns: tuple[str, ...]
    has_headings: bool

    def rows(self) -> Iterator[Row]:
        """Every row that is not empty, one after the other: the file may be larger than memory."""
        return self.objects() if self.delimiter == JSON else self.separated()

    def objects(self) -> Iterator[Row]:
        with open_text(self.path, self.encoding) as file:
            for number, (line, found) in enumerate(objects(file), 1):
                problem = "" if isinstance(found, dict) else "This line is no object of JSON."
                yield Row(number, line, texts_of(found) if isinstance(found, dict) else {}, problem)

    def separated(self) -> Iterator[Row]:
        with open_text(self.path, self.encoding) as file:
            found = written(Lines(file), self.delimiter)
            if self.has_headings:
                next(found, None)
            for number, (line, cells, problem) in enumerate(found, 1):
                yield self.row(number, line, cells, problem)

    def row(self, number: int, line: int, cells: list[str], problem: str) -> Row:
        if any(cells[len(self.columns) :]):
            problem = f"It has {len(cells)} cells, but there are {len(self.columns)} columns."
        return Row(number, line, dict(zip(self.columns, cells, strict=False)), problem)


def open_table(path: Path) -> Table:
    """Look at a file: its encoding, what separates its cells, and its headings. Raises Unreadable."""
    encoding = encoding_of(path)
    with open_text(path, encoding) as file:
        if file.read(1) == "[":
            return json_table(path, encoding)
        file.seek(0)
        first = next((line for line in file if line.strip()), "")
        delimiter = delimiter_of(first)
        file.seek(0)
        head = next((cells for _, cells, _ in written(Lines(file), delimiter)), None)
    if not head:
        raise Unreadable("There is nothing in this file.")
    if len(head) > MOST_COLUMNS:
        raise Unreadable(f"This file has {len(head):,} columns; at most {MOST_COLUMNS} are read.")
    has_headings = not any("://" in cell for cell in head)
    return Table(
        path, encoding, delimiter, names_of(head if has_headings else [""] * len(head)), has_headings
    )


def json_table(path: Path, encoding: str) -> Table:
    """Our own export as JSON has a link on each line. Raises Unreadable for any other."""
    with open_text(path, encoding) as file:
        first = next((found for _, found in objects(file)), None)
    if not isinstance(first, dict):
        raise Unreadable("JSON is read as Waypost writes it: an array with one link on each line.")
    return Table(path, encoding, JSON, tuple(first)[:MOST_COLUMNS], has_headings=True)


def names_of(head: list[str]) -> tuple[str, ...]:
    """Headings, each different and none empty."""
    seen: Counter[str] = Counter()
    found = []
    for number, cell in enumerate(head, 1):
        name = " ".join(cell.split())[:100] or f"Column {number}"
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(found)


def encoding_of(path: Path) -> str:
    """By its mark; else UTF-8 if all of it is, else Windows' Latin. Raises Unreadable."""
    decoder, is_utf8 = codecs.getincrementaldecoder("utf-8")(), True
    with path.open("rb") as file:
        block = file.read(BLOCK)
        for mark, name in MARKS.items():
            if block.startswith(mark):
                return name
        while block:
            if b"\0" in block:
                raise Unreadable("This is no text. Save the table as CSV (UTF-8) first.")
            is_utf8 = is_utf8 and decodes(decoder, block)
            block = file.read(BLOCK)
    return "utf-8" if is_utf8 and decodes(decoder, b"", is_end=True) else "cp1252"


def decodes(decoder: codecs.IncrementalDecoder, block: bytes, *, is_end: bool = False) -> bool:
    try:
        decoder.decode(block, is_end)
    except UnicodeDecodeError:
        return False
    return True


def open_text(path: Path, encoding: str) -> TextIO:
    return path.open(encoding=encoding, errors="replace", newline="")


def delimiter_of(line: str) -> str:
    """What stands most often in the first line, outside of quotes."""
    outside = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


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
        line = self.given_back.popleft() if self.given_back else next(self.file)
        self.taken.append(line)
        self.number += 1
        return line.replace("\0", "\ufffd")

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
    if "field larger" in error:
        return f"A cell has more than {MOST_CELL:,} characters."
    if "expected after" in error:
        return "Something stands between a closing quote and the next cell."
    return "A quote is opened and not closed."
