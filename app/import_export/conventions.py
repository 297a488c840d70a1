"""Conventions of one table: texts for empty cells, the order of dates, and whole URLs in place of aliases.

Each is recognised once, from the first rows, and applied to all rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.core.csv_files import unescape_text
from app.import_export.columns import WAYPOST, origin_of
from app.import_export.dates import NO_ORDERS, Orders, recognise
from app.import_export.sniff import TableFormat

MAX_ROWS = 20_000  # that are read to recognise them
MAX_CHARACTERS = 8_000_000
PROBLEM_CHARACTERS = 10_000  # that an unreadable row counts as: it may span much of the file
DATE_FIELDS = ("datetime", "start_date", "end_date")
# what databases and spreadsheets write into an empty cell. JSON, SQL and our own export have a value of their
# own for that, so there these are texts
ZERO_DATES = frozenset({"0000-00-00", "0000-00-00 00:00:00"})  # MySQL's values for an unknown moment
NULLS = frozenset({"NULL", "null", "\\N"}) | ZERO_DATES
ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://.*|(?:[\w-]+\.)+[a-z]{2,63}(?::\d{1,5})?/.*", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True)
class Conventions:
    """The conventions of one table. `date_order` is one of `dates.PLACES`, or "" where no date needs it."""

    nulls: frozenset[str] = frozenset()
    date_order: str = ""
    has_addresses: bool = False  # in the column of aliases
    is_own: bool = False  # an export of Waypost's
    # all columns that were found in a file whose later rows may have others (JSON)
    known: frozenset[str] = frozenset()


PLAIN = Conventions()


def conventions_of(table: TableFormat, columns: Mapping[str, str], date_order: str = "") -> Conventions:
    """The conventions of a table. `columns`: field → column. `date_order`: chosen, or recognised."""
    is_own = origin_of(table.columns) == WAYPOST
    return Conventions(
        nulls=nulls_of(table, is_own=is_own),
        is_own=is_own,
        date_order=date_order,
        known=frozenset() if table.is_separated else frozenset(table.columns),
        has_addresses="url" in columns and not is_own and all_addresses(cells_of(table, columns["url"])),
    )


def nulls_of(table: TableFormat, *, is_own: bool) -> frozenset[str]:
    if is_own:
        return frozenset()
    return NULLS if table.is_separated else ZERO_DATES


def date_orders(table: TableFormat, columns: Mapping[str, str]) -> Orders:
    """The orders of day, month and year that are possible for the table's dates."""
    named = [columns[field] for field in DATE_FIELDS if field in columns]
    return recognise(cells_of(table, *named)) if named else NO_ORDERS


def cells_of(table: TableFormat, *columns: str) -> Iterator[str]:
    """The texts in these columns of the first rows, without empty ones."""
    characters = 0
    for number, row in enumerate(table.rows()):
        characters += PROBLEM_CHARACTERS if row.problem else sum(map(len, row.cells.values()))
        if number >= MAX_ROWS or characters > MAX_CHARACTERS:
            return
        for column in columns:
            if (text := row.cells.get(column, "").strip()) and text not in NULLS:
                yield unescape_text(text)


def all_addresses(texts: Iterator[str]) -> bool:
    """Whether all texts are URLs, and there is at least one."""
    found = [is_address(text) for text in texts]
    return bool(found) and all(found)


def is_address(text: str) -> bool:
    """Whether the text begins with a scheme, or with what looks like a host."""
    return ADDRESS.fullmatch(text) is not None
