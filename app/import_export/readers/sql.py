"""Streaming reader of SQL dumps of YOURLS: the rows that are inserted into its table of links.

Sources: YOURLS makes that table, `keyword url title timestamp ip clicks` behind a prefix that its owner
chooses, in `yourls_create_sql_tables` (includes/functions-install.php). `mysqldump` writes `INSERT INTO …
VALUES (…),(…);` in lines of about a megabyte and phpMyAdmin a row on each line, with the names of the
columns; both escape line breaks in texts, so statements and rows begin and end where lines do. Strings and
hexadecimal literals (which `--hex-blob` and some programs write) as MySQL's reference manual has them (9.1.1,
9.1.4). Both programs write moments in UTC.

All other tables are skipped, a line at a time: the table of clicks is often far larger than that of links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TextIO

from app.i18n.messages import lazy_gettext as _l
from app.import_export.readers.reader import MAX_BROKEN, MAX_LINE, TOO_LONG, Element, FormatReader

Columns = tuple[str, ...]
MAX_REST = 100  # characters behind the last row of a line
MAX_COLUMNS = 100
LINK_COLUMNS = ("keyword", "url", "title", "timestamp", "ip", "clicks")
MIN_COLUMNS = frozenset({"keyword", "url"})

NAME = r"(?:`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|\w{1,200})"
INSERT = re.compile(
    rf"(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?INTO\s+(?:{NAME}\.)?({NAME})\s*(?:\(([^()]{{1,5000}})\)\s*)?VALUES?\b",
    re.IGNORECASE,
)
CREATE = re.compile(
    rf"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:{NAME}\.)?({NAME})\s*\(\s*\n", re.IGNORECASE
)
NO_COLUMNS = {"PRIMARY", "KEY", "UNIQUE", "INDEX", "CONSTRAINT"}
COLUMN = re.compile(rf"[ \t]*({NAME})[ \t]")
DUMP = re.compile(
    r"\s*(?:--|/\*|(?:INSERT\s+(?:IGNORE\s+)?INTO|CREATE\s+(?:TABLE|DATABASE)|DROP\s+TABLE|LOCK\s+TABLES)\s"
    r"|SET\s+@?\w+\s*=|START\s+TRANSACTION\s*;)",
    re.IGNORECASE,
)
# a value and what ends it; possessive, so that no text makes it backtrack
VALUE = re.compile(
    r"\s*+(?:(?:_\w++\s*+)?(?:'(?P<text>(?:[^'\\]++|\\.|'')*+)'|0x(?P<hex>[0-9A-Fa-f]++)|[xX]'(?P<quoted>[0-9A-Fa-f]*+)')"
    r"|(?P<plain>[^\s,()'\"]++))\s*+(?P<end>[,)])",
    re.DOTALL,
)
OPENING = re.compile(r"[\s,]*+\(")
ESCAPED = re.compile(r"\\(.)|''", re.DOTALL)
MEANINGS = MappingProxyType({"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"})

NO_VALUES = _l("The values of this row can't be read, nor what follows in the same INSERT.")


def is_dump(head: str) -> bool:
    """Whether a file that begins so is SQL."""
    return DUMP.match(head) is not None


def elements(file: TextIO) -> Iterator[Element]:
    """Every row of YOURLS's table of links in `file`, which is open at its beginning."""
    made: dict[str, list[str]] = {}
    creating: list[str] | None = None
    columns: Columns = ()  # of the INSERT that goes on in this line
    broken = 0
    for number, line in enumerate(lines(file), 1):
        if creating is not None:
            creating = add_column(creating, line)
        elif create := CREATE.match(line):
            creating = made[bare(create[1])] = []
        elif (insert := INSERT.match(line)) or columns:
            columns = link_columns(insert, made) if insert else columns
            left = InsertLine(line, insert.end() if insert else 0, number)
            for found in left.rows(columns) if columns else ():
                yield found
                broken += bool(found.problem)
                if broken > MAX_BROKEN:
                    return
            columns = columns if left.goes_on else ()


def lines(file: TextIO) -> Iterator[str]:
    """Every line; of one that is too long its beginning."""
    while line := file.readline(MAX_LINE):
        yield line
        while len(line) == MAX_LINE and not line.endswith("\n"):
            line = file.readline(MAX_LINE)


def add_column(found: list[str], line: str) -> list[str] | None:
    """Add the column that a line of a CREATE TABLE names. None behind the last one."""
    match = COLUMN.match(line)
    if match is None or match[1].upper() in NO_COLUMNS or len(found) == MAX_COLUMNS:
        return None
    found.append(bare(match[1]))
    return found


def link_columns(insert: re.Match[str], made: Mapping[str, Sequence[str]]) -> Columns:
    """The columns of an INSERT; none where its table is not that of links."""
    name, listed = bare(insert[1]), insert[2]
    if listed:
        columns = tuple(bare(one.strip()) for one in listed.split(",")[: MAX_COLUMNS + 1])
    else:
        columns = tuple(made.get(name, ())) or (LINK_COLUMNS if name.lower().endswith("url") else ())
    return columns if set(columns) >= MIN_COLUMNS else ()


class InsertLine:
    """A line of an INSERT, from `at` on. `goes_on`: whether the next line has more of its rows."""

    def __init__(self, text: str, at: int, line: int) -> None:
        self.text, self.at, self.line = text, at, line
        self.goes_on = False

    def rows(self, columns: Columns) -> Iterator[Element]:
        while opening := OPENING.match(self.text, self.at):
            self.at = opening.end()
            if (values := self.values()) is None:
                yield Element(self.line, None, TOO_LONG if len(self.text) >= MAX_LINE else NO_VALUES)
                return
            if len(values) == len(columns):
                yield Element(self.line, dict(zip(columns, values, strict=True)))
            else:
                count = _l(
                    "It has %(values)s values, but there are %(columns)s columns.",
                    values=len(values),
                    columns=len(columns),
                )
                yield Element(self.line, None, count)
        rest = self.text[self.at : self.at + MAX_REST].strip()
        self.goes_on = rest in {"", ","}
        if not self.goes_on and not rest.startswith(";"):
            yield Element(self.line, None, NO_VALUES)

    def values(self) -> list[str | None] | None:
        """The values up to the next closing bracket; None where they can't be read."""
        values: list[str | None] = []
        while match := VALUE.match(self.text, self.at):
            self.at = match.end()
            values.append(value_of(match))
            if match["end"] == ")":
                return values
        return None


def bare(name: str) -> str:
    """A name without its quotes, as MySQL and standard SQL write them."""
    return name.strip('`"')


def value_of(match: re.Match[str]) -> str | None:
    digits = match["hex"] or match["quoted"]
    if digits:
        return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0")).decode("utf-8", "replace")
    if match["plain"] is not None:
        return None if match["plain"].upper() == "NULL" else match["plain"]
    return ESCAPED.sub(meaning, match["text"] or "")


def meaning(match: re.Match[str]) -> Any:
    """The meaning of a backslash and the character after it, or of a doubled quote."""
    if match[1] is None:
        return "'"
    return match[0] if match[1] in "%_" else MEANINGS.get(match[1], match[1])


READER = FormatReader(is_dump, elements, _l("There are no links of YOURLS in this SQL dump."))
