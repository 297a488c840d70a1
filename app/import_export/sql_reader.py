"""Streaming reader of SQL dumps of YOURLS: the rows that are inserted into its table of links.

Sources: YOURLS makes that table, `keyword url title timestamp ip clicks` behind a prefix that its owner
chooses, in `yourls_create_sql_tables` (includes/functions-install.php). `mysqldump` writes `INSERT INTO …
VALUES (…),(…);` in lines of about a megabyte and phpMyAdmin a row on each line, with the names of the
columns; both escape line breaks in texts, so a statement begins where a line does. Strings and hexadecimal
literals (which `--hex-blob` and some programs write) as MySQL's reference manual has them (9.1.1, 9.1.4).
Both programs write moments in UTC.

All other tables are skipped, a line at a time: the table of clicks is often far larger than that of links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TextIO

from app.i18n.messages import lazy_gettext as _l
from app.import_export.text_buffer import MAX_BROKEN, Broken, Element, Exhausted, TextBuffer

Columns = tuple[str, ...]
HEAD = 8_192  # characters that the beginning of a statement, or of a line of it, must fit in
MAX_COLUMNS = 100
LINK_COLUMNS = ("keyword", "url", "title", "timestamp", "ip", "clicks")
MIN_COLUMNS = frozenset({"keyword", "url"})

NAME = r"(?:`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|\w{1,200})"
# the beginning of statements that may concern us, found by a fast search: there may be millions of others
STATEMENT = re.compile(
    r"^(?:(?:INSERT|REPLACE|insert|replace)[ \t][^\n']{0,400}?(?:url[`\"]?[ \t(]|keyword)"
    r"|(?:CREATE|create)[ \t])",
    re.MULTILINE,
)
INSERT = re.compile(
    rf"(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?INTO\s+(?:{NAME}\.)?({NAME})\s*(?:\(([^()]{{1,5000}})\)\s*)?VALUES?\b",
    re.IGNORECASE,
)
CREATE = re.compile(
    rf"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:{NAME}\.)?({NAME})\s*\(\s*\n", re.IGNORECASE
)
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


class SqlText(TextBuffer):
    """The dump at the current position. It keeps the character before `at`, to know where lines begin."""

    def read_more(self) -> bool:
        before = self.text[self.at - 1 : self.at] if self.at else ""
        found = super().read_more()
        self.text, self.at = before + self.text, len(before)
        return found

    def fill(self, count: int) -> None:
        while len(self.text) - self.at < count and self.read_more():
            pass

    def find_statement(self) -> bool:
        """Go to the next line that begins with a statement for us. False: there is none. Raises Exhausted."""
        self.step()
        while True:
            if match := STATEMENT.search(self.text, self.at):
                self.skip(match.start() - self.at)
                self.fill(HEAD)
                return True
            # the last line may be the beginning of a statement
            last = self.text.rfind("\n", self.at) + 1 or (self.at if self.is_at_line() else len(self.text))
            self.skip((last if len(self.text) - last < HEAD else len(self.text)) - self.at)
            if not self.read_more():
                return False

    def is_at_line(self) -> bool:
        return self.at == 0 or self.text[self.at - 1] == "\n"

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match the pattern here, and go behind the match."""
        found = pattern.match(self.text, self.at)
        if found:
            self.skip(found.end() - self.at)
        return found

    def take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Match a pattern that may be long, reading on until it is complete. Raises Broken."""
        while (found := self.match(pattern)) is None:
            self.require_short(len(self.text) - self.at)
            if not self.read_more():
                raise Broken(NO_VALUES)
        return found

    def create(self) -> Columns:
        """The columns of a CREATE TABLE, each on a line of its own. The position is behind the bracket."""
        found: list[str] = []
        while len(found) < MAX_COLUMNS:
            self.fill(HEAD)
            match = COLUMN.match(self.text, self.at)
            if match is None or match[1].upper() in {"PRIMARY", "KEY", "UNIQUE", "INDEX", "CONSTRAINT"}:
                break
            found.append(bare(match[1]))
            self.skip_line()
        return tuple(found)

    def row(self) -> list[str | None]:
        """The values in the brackets that open here. Raises Broken."""
        self.fill(HEAD)
        self.take(OPENING)
        values: list[str | None] = []
        characters = 0
        while True:
            match = self.take(VALUE)
            values.append(value_of(match))
            characters += match.end() - match.start()
            self.require_short(characters)
            if match["end"] == ")":
                return values

    def has_more(self) -> bool:
        """Whether another row of this statement follows."""
        self.fill(HEAD)
        return self.text[self.at : self.at + HEAD].lstrip()[:1] == ","


def is_dump(head: str) -> bool:
    """Whether a file that begins so is SQL."""
    return DUMP.match(head) is not None


def elements(file: TextIO) -> Iterator[Element]:
    """Every row of YOURLS's table of links in `file`, which is open at its beginning."""
    text = SqlText(file)
    try:
        yield from inserted(text)
    except Exhausted as error:
        yield Element(text.line, None, error.args[0])


def inserted(text: SqlText) -> Iterator[Element]:
    """Raises Exhausted."""
    made: dict[str, Columns] = {}
    broken = 0
    while text.find_statement():
        if match := text.match(CREATE):
            made[bare(match[1])] = text.create()
        elif (match := text.match(INSERT)) and (columns := link_columns(match, made)):
            for found in rows(text, columns):
                text.steps = 0
                yield found
                broken += bool(found.problem)
                if broken > MAX_BROKEN:
                    return
        else:
            text.skip_line()


def link_columns(insert: re.Match[str], made: Mapping[str, Columns]) -> Columns:
    """The columns of an INSERT; none where its table is not that of links."""
    name, listed = bare(insert[1]), insert[2]
    if listed:
        columns = tuple(bare(one.strip()) for one in listed.split(",")[: MAX_COLUMNS + 1])
    else:
        columns = made.get(name) or (LINK_COLUMNS if name.lower().endswith("url") else ())
    return columns if set(columns) >= MIN_COLUMNS else ()


def rows(text: SqlText, columns: Columns) -> Iterator[Element]:
    """The rows of one INSERT, up to its end."""
    while True:
        line = text.line
        try:
            values = text.row()
        except Broken as error:
            yield Element(line, None, error.args[0])
            text.skip_line()
            return
        if len(values) == len(columns):
            yield Element(line, dict(zip(columns, values, strict=True)))
        else:
            count = _l(
                "It has %(values)s values, but there are %(columns)s columns.",
                values=len(values),
                columns=len(columns),
            )
            yield Element(line, None, count)
        if not text.has_more():
            return


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
