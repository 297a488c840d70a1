"""Which rows does a file of separated values have, whatever wrote it?

Other people's files come in many encodings, with commas, semicolons or tabs, with headings or without,
and with a quote that is never closed. A row that can't be read says why, and the next one is read.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

from app.transfer.json_reader import cells_of, elements
from app.transfer.lines import Lines, whole_lines, written

MOST_COLUMNS = 100
DELIMITERS = ",;\t|"
JSON = "json"  # in the place of what separates cells
BLOCK = 1 << 20
HEAD_OBJECTS = 100  # of a JSON file, whose names are its columns
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
            for number, (line, value, problem) in enumerate(elements(file), 1):
                yield Row(number, line, cells_of(value) if value else {}, problem)

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
        if file.read(BLOCK).lstrip()[:1] in {"[", "{"}:
            return json_table(path, encoding)
        file.seek(0)
        first = next((line for line in whole_lines(file) if line.strip()), "")
        delimiter = delimiter_of(first)
        file.seek(0)
        head = next((cells for _, cells, _ in written(Lines(file), delimiter)), None)
    if not head:
        raise Unreadable("There is nothing in this file.")
    refuse_many(head)
    has_headings = not any("://" in cell for cell in head)
    return Table(
        path, encoding, delimiter, names_of(head if has_headings else [""] * len(head)), has_headings
    )


def json_table(path: Path, encoding: str) -> Table:
    """Columns are the names that the first objects have. Raises Unreadable."""
    with open_text(path, encoding) as file:
        some = [found.value for found in islice(elements(file), HEAD_OBJECTS)]
    columns = tuple(dict.fromkeys(name for value in some if value for name in cells_of(value)))
    if not columns:
        raise Unreadable("There is no list of links in this JSON.")
    refuse_many(columns)
    return Table(path, encoding, JSON, columns, has_headings=True)


def refuse_many(columns: Collection[str]) -> None:
    if len(columns) > MOST_COLUMNS:
        raise Unreadable(f"This file has {len(columns):,} columns; at most {MOST_COLUMNS} are read.")


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


def line_ends(path: Path) -> int:
    """How many there are, whatever they mean: quicker by far than to read the rows."""
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK), b""))


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
