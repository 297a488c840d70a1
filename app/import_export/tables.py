"""Opens the files that owners bring: tables of separated values, and the formats of `readers`.

They may have any of many encodings. Tables may have commas, semicolons, tabs or bars, headings or none, and
quotes that are never closed. A row that can't be read has a problem, and the next one is read.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export.readers import archive, bookmarks, csv, json, sql
from app.import_export.readers.reader import FormatReader, UnreadableTable, open_text

MAX_COLUMNS = 100
DELIMITERS = ",;\t|"
ARCHIVE = "zip"
# in the order in which they are asked whether they recognise a file
READERS: Mapping[str, FormatReader] = MappingProxyType(
    {"json": json.READER, "bookmarks": bookmarks.READER, "sql": sql.READER, ARCHIVE: archive.READER}
)
BLOCK = 1 << 20
# of a file that is no table of separated values: the names in this much of it are its columns
HEAD_OBJECTS = 20_000
HEAD_CHARACTERS = 8_000_000
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class TableRow(NamedTuple):
    """A row. `number` counts from 1, `line` is where it begins. `problem`: why it can't be read."""

    number: int
    line: int
    cells: dict[str, str]
    problem: str = ""


@dataclass(frozen=True)
class TableFormat:
    """The format of a file. `kind` is one of `READERS`, or a delimiter.

    `columns` are its headings, or `Column 1` … where it has none.
    """

    path: Path
    encoding: str
    kind: str
    columns: tuple[str, ...]
    has_headings: bool

    @property
    def is_separated(self) -> bool:
        """Whether it is CSV, which contains only texts."""
        return self.kind not in READERS

    @property
    def size(self) -> int:
        """Bytes of its text."""
        if self.kind != ARCHIVE:
            return self.path.stat().st_size
        with archive.open_links(self.path, self.encoding) as file:
            return file.size

    def rows(self) -> Iterator[TableRow]:
        """Every row that is not empty. They are streamed, because the file may be larger than memory."""
        return self.separated() if self.is_separated else self.objects()

    def objects(self) -> Iterator[TableRow]:
        reader = READERS[self.kind]
        with reader.open(self.path, self.encoding) as file:
            for number, (line, value, problem) in enumerate(reader.elements(file), 1):
                yield TableRow(number, line, json.cells_of(value) if value else {}, problem)

    def separated(self) -> Iterator[TableRow]:
        with open_text(self.path, self.encoding) as file:
            found = csv.records(file, self.kind)
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

    def count_lines(self) -> int:
        """The number of its lines, also within cells. Counting them is much faster than reading the rows."""
        opened = READERS[self.kind].open if self.kind in READERS else open_text
        with opened(self.path, self.encoding) as file:
            return sum(block.count("\n") for block in iter(lambda: file.read(BLOCK), ""))


def open_table(path: Path) -> TableFormat:
    """Detect the encoding, delimiter and headings of a file. Raises UnreadableTable."""
    if archive.is_zip(path):
        return object_table(path, archive.ENCODING, ARCHIVE)
    encoding = encoding_of(path)
    with open_text(path, encoding) as file:
        head = file.read(BLOCK)
        if kind := next((kind for kind, reader in READERS.items() if reader.recognises(head)), ""):
            return object_table(path, encoding, kind)
        file.seek(0)
        delimiter = delimiter_of(csv.first_line(file))
        file.seek(0)
        first = next((cells for _, cells, _ in csv.records(file, delimiter)), None)
    if not first:
        raise UnreadableTable(_l("This file is empty."))
    refuse_many(first)
    has_headings = not any("://" in cell for cell in first)
    names = names_of(first if has_headings else [""] * len(first))
    return TableFormat(path, encoding, delimiter, names, has_headings)


def object_table(path: Path, encoding: str, kind: str) -> TableFormat:
    """The format of a file of objects, whose columns are the names in its links. Raises UnreadableTable."""
    columns: dict[str, None] = {}
    characters, reader = 0, READERS[kind]
    with reader.open(path, encoding) as file:
        for found in islice(reader.elements(file), HEAD_OBJECTS):
            cells = json.cells_of(found.value or {})
            columns |= dict.fromkeys(cells)
            refuse_many(columns)
            characters += sum(map(len, cells.values()))
            if characters > HEAD_CHARACTERS:
                break
    if not columns:
        raise UnreadableTable(reader.nothing)
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


def decodes(decoder: codecs.IncrementalDecoder, block: bytes, *, is_end: bool = False) -> bool:
    try:
        decoder.decode(block, is_end)
    except UnicodeDecodeError:
        return False
    return True


def delimiter_of(line: str) -> str:
    """The delimiter that occurs most often in the first line, outside of quotes."""
    outside = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=outside.count)
