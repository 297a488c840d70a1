"""Opens the files that owners bring: tables of separated values, JSON, SQL dumps of YOURLS, bookmarks.

They may have any of many encodings. Tables may have commas, semicolons, tabs or bars, headings or none, and
quotes that are never closed. A row that can't be read has a problem, and the next one is read.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TextIO

from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export import bookmarks, json_reader, sql_reader
from app.import_export.csv_reader import Lines, nonempty_records, whole_lines
from app.import_export.json_reader import cells_of
from app.import_export.text_buffer import Element

MAX_COLUMNS = 100
DELIMITERS = ",;\t|"
# values of `delimiter` for files that are no tables
JSON, SQL, BOOKMARKS = "json", "sql", "bookmarks"
READERS: Mapping[str, Callable[[TextIO], Iterator[Element]]] = MappingProxyType(
    {JSON: json_reader.elements, SQL: sql_reader.elements, BOOKMARKS: bookmarks.elements}
)
NO_LINKS = {
    JSON: _l("There is no list of links in this JSON."),
    SQL: _l("There are no links of YOURLS in this SQL dump."),
    BOOKMARKS: _l("There are no bookmarks in this file."),
}
BLOCK = 1 << 20
# of a file that is no table: the names in this much of it are its columns
HEAD_OBJECTS = 20_000
HEAD_CHARACTERS = 8_000_000
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class UnreadableTable(Exception):
    """The file can't be read as a table. The text says why, for its owner."""


class TableRow(NamedTuple):
    """A row. `number` counts from 1, `line` is where it begins. `problem`: why it can't be read."""

    number: int
    line: int
    cells: dict[str, str]
    problem: str = ""


@dataclass(frozen=True)
class TableFormat:
    """The format of a file. `columns` are its headings, or `Column 1` … where it has none."""

    path: Path
    encoding: str
    delimiter: str
    columns: tuple[str, ...]
    has_headings: bool

    def rows(self) -> Iterator[TableRow]:
        """Every row that is not empty. They are streamed, because the file may be larger than memory."""
        return self.separated() if self.is_separated else self.objects()

    @property
    def is_separated(self) -> bool:
        """Whether it is CSV, which contains only texts."""
        return self.delimiter not in READERS

    def objects(self) -> Iterator[TableRow]:
        with open_text(self.path, self.encoding) as file:
            for number, (line, value, problem) in enumerate(READERS[self.delimiter](file), 1):
                yield TableRow(number, line, cells_of(value) if value else {}, problem)

    def separated(self) -> Iterator[TableRow]:
        with open_text(self.path, self.encoding) as file:
            found = nonempty_records(Lines(file), self.delimiter)
            if self.has_headings:
                next(found, None)
            for number, (line, cells, problem) in enumerate(found, 1):
                yield self.row(number, line, cells, problem)

    def row(self, number: int, line: int, cells: list[str], problem: str) -> TableRow:
        if any(cells[len(self.columns) :]):
            problem = _l(
                "It has %(cells)s cells, but there are %(columns)s columns.",
                cells=len(cells),
                columns=len(self.columns),
            )
        return TableRow(number, line, dict(zip(self.columns, cells, strict=False)), problem)


def open_table(path: Path) -> TableFormat:
    """Detect the encoding, delimiter and headings of a file. Raises UnreadableTable."""
    encoding = encoding_of(path)
    with open_text(path, encoding) as file:
        if kind := kind_of(file.read(BLOCK)):
            return object_table(path, encoding, kind)
        file.seek(0)
        first = next((line for line in whole_lines(file) if line.strip()), "")
        delimiter = delimiter_of(first)
        file.seek(0)
        head = next((cells for _, cells, _ in nonempty_records(Lines(file), delimiter)), None)
    if not head:
        raise UnreadableTable(_l("This file is empty."))
    refuse_many(head)
    has_headings = not any("://" in cell for cell in head)
    return TableFormat(
        path, encoding, delimiter, names_of(head if has_headings else [""] * len(head)), has_headings
    )


def kind_of(head: str) -> str:
    """The kind of a file by its beginning; "" for CSV."""
    if head.lstrip()[:1] in {"[", "{"}:
        return JSON
    if bookmarks.is_bookmarks(head):
        return BOOKMARKS
    return SQL if sql_reader.is_dump(head) else ""


def object_table(path: Path, encoding: str, kind: str) -> TableFormat:
    """The format of a file of objects, whose columns are the names in its links. Raises UnreadableTable."""
    columns: dict[str, None] = {}
    characters = 0
    with open_text(path, encoding) as file:
        for found in islice(READERS[kind](file), HEAD_OBJECTS):
            cells = cells_of(found.value or {})
            columns |= dict.fromkeys(cells)
            refuse_many(columns)
            characters += sum(map(len, cells.values()))
            if characters > HEAD_CHARACTERS:
                break
    if not columns:
        raise UnreadableTable(NO_LINKS[kind])
    return TableFormat(path, encoding, kind, tuple(columns), has_headings=True)


def refuse_many(columns: Collection[str]) -> None:
    if len(columns) > MAX_COLUMNS:
        raise UnreadableTable(
            _l(
                "This file has %(columns)s columns; at most %(most)s are read.",
                columns=lazy_digits(len(columns)),
                most=MAX_COLUMNS,
            )
        )


def names_of(head: list[str]) -> tuple[str, ...]:
    """The headings, made unique, with `Column N` for empty ones."""
    seen: Counter[str] = Counter()
    found = []
    for number, cell in enumerate(head, 1):
        name = " ".join(cell.split())[:100] or f"Column {number}"
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(found)


def encoding_of(path: Path) -> str:
    """The encoding by the byte order mark; else UTF-8 if the whole file is, else Windows-1252.

    Raises UnreadableTable.
    """
    decoder, is_utf8 = codecs.getincrementaldecoder("utf-8")(), True
    with path.open("rb") as file:
        block = file.read(BLOCK)
        for mark, name in MARKS.items():
            if block.startswith(mark):
                return name
        while block:
            if b"\0" in block:
                raise UnreadableTable(_l("This is not text. Save the table as CSV (UTF-8) first."))
            is_utf8 = is_utf8 and decodes(decoder, block)
            block = file.read(BLOCK)
    return "utf-8" if is_utf8 and decodes(decoder, b"", is_end=True) else "cp1252"


def line_ends(path: Path) -> int:
    """The number of line ends, also within cells. Counting them is much faster than reading the rows."""
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
    """The delimiter that occurs most often in the first line, outside of quotes."""
    outside = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=outside.count)
