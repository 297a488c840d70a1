"""CSV files from which no spreadsheet reads a formula, and which an import reads back unchanged.

Every CSV that leaves Waypost is written by `csv_pieces`, with one rule for its cells: a text that begins with
a sign of a formula gets an apostrophe before it (OWASP, CSV injection), and so does one that begins with an
apostrophe, so that `unescape_text` knows which to take off.
"""

# see docs/decisions/2026-11-22-cells-of-csv.md
from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator

PIECE_CHARACTERS = 64 * 1024
BYTE_ORDER_MARK = "\ufeff"  # spreadsheets take a file without one for the system's old encoding
QUOTE = "'"
SIGNS = frozenset("=+-@\N{MINUS SIGN}")
# some spreadsheets read a cell that begins with one of these as though it began behind it
CONTROLS = frozenset("\t\r\n")
# letters by their category, but nothing is seen of them
FILLERS = frozenset("\u115f\u1160\u3164\uffa0")


def begins_formula(text: str) -> bool:
    """Whether the first visible character is a sign of a formula in any width: `=`, `＝`, `﹦`.

    Spaces of all kinds, joiners, marks and byte order marks before it do not hide it.
    """
    for character in text:
        if character in CONTROLS:
            return True
        if character in FILLERS or unicodedata.category(character)[0] in "CMZ":
            continue
        return unicodedata.normalize("NFKC", character)[0] in SIGNS
    return False


def escape_text(text: str) -> str:
    return QUOTE + text if text.startswith(QUOTE) or begins_formula(text) else text


def unescape_text(text: str) -> str:
    """What `escape_text` was given; an apostrophe before anything else stays."""
    rest = text[1:]
    is_escaped = text.startswith(QUOTE) and (rest.startswith(QUOTE) or begins_formula(rest))
    return rest if is_escaped else text


def format_cell(value: object) -> str:
    """A value as its cell: lists and objects as JSON, empty ones and None as nothing."""
    if value is None or value in ([], {}, ()):
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return escape_text(str(value))


def csv_pieces(rows: Iterable[Iterable[object]], *, has_mark: bool = True) -> Iterator[str]:
    """The text of a file (RFC 4180), in pieces of about 64 KiB; rows are taken as the pieces are."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    buffer.write(BYTE_ORDER_MARK if has_mark else "")
    for row in rows:
        writer.writerow([format_cell(value) for value in row])
        if buffer.tell() >= PIECE_CHARACTERS:
            yield clear(buffer)
    yield clear(buffer)


def clear(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text
