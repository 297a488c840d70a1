"""Mapping of a table's columns to the fields of a link, by the headings that each service uses.

Each heading has one meaning, except `url`: it is the destination where no other column is, else the alias.
The conventions of a table (texts for empty cells, the order of dates, whole URLs in place of aliases) are
recognised once, from its first rows, and hold for all of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from app.core.csv_files import unescape_text
from app.i18n.messages import lazy_gettext as _l
from app.import_export.dates import NO_ORDERS, Orders, recognise
from app.import_export.tables import TableFormat
from app.links.schema import SETTINGS

SOME = 100
WAYPOST, BROWSERS = "Waypost", _l("Browsers")
TRANSLATED = {"Browsers": BROWSERS}


@dataclass(frozen=True)
class Column:
    """A field that a column can fill: its label, and the headings that mean it, the surest first.

    `is_exported`: whether our own export has it. The others are only in files of other services.
    """

    label: str
    headings: tuple[str, ...] = ()
    is_exported: bool = True


FACTS = tomllib.loads(Path(__file__).with_name("origins.toml").read_text())
WHOLE = tuple(FACTS["whole"])
LABELS = {
    "id": _l("ID"),
    "url": _l("Alias"),
    "short_url": _l("Short link"),
    "domain": _l("Domain"),
    "project": _l("Project"),
    "datetime": _l("Created"),
    "last_datetime": _l("Last edited"),
    "clicks": _l("Clicks so far"),
    "is_disabled": _l("Turned off"),
    "targeting": _l("Targeting"),
    "pixels": _l("Pixels"),
    "handlers": _l("Notifications"),
    "password_hash": _l("Password hash"),
    "password_version": _l("Password version"),
    "has_password": _l("Had a password"),
    "project_color": _l("Project colour"),
    "handler_settings": _l("Settings of handlers"),
    "cloaking_favicon_data": _l("Data of the icon"),
    "cloaking_opengraph_data": _l("Data of the card picture"),
}
OTHERS = {
    name: Column(label, tuple(FACTS["headings"][name]), is_exported=name != "is_disabled")
    for name, label in LABELS.items()
}
OF_SETTINGS = {
    name: Column(one.label, (name.replace("_", " "), *one.headings))
    for name, one in SETTINGS.items()
    if one.headings is not None
}
# first what a reader of an export looks for, then the settings
FIRST = (
    *("id", "location_url", "url", "short_url", "domain", "title", "notes", "tags", "project", "datetime"),
    *("last_datetime", "clicks", "is_enabled", "is_disabled"),
)
# The order matters: a heading belongs to the first field that lists it
COLUMNS: dict[str, Column] = {
    name: (OF_SETTINGS | OTHERS)[name] for name in dict.fromkeys((*FIRST, *OF_SETTINGS, *OTHERS))
}
EXPORTED = tuple(name for name, column in COLUMNS.items() if column.is_exported)

# the headings by which a service's file is recognised, in the order in which they are checked
ORIGINS: dict[str, list[frozenset[str]]] = {
    TRANSLATED.get(one["name"], one["name"]): [frozenset(sign) for sign in one["signs"]]
    for one in FACTS["origins"]
}
SERVICES = sorted(ORIGINS.keys() - {WAYPOST, BROWSERS})
# where a service uses a heading for another field than all others do: field → heading, "" for none
MEANT: dict[str, dict[str, str]] = {one["name"]: one.get("meant", {}) for one in FACTS["origins"]}


def normalize_heading(heading: str) -> str:
    """`Long URL`, `long_url` and `longUrl` are the same."""
    return re.sub(r"[\W_]+", "", heading).lower()


def guess(columns: Sequence[str]) -> dict[str, str]:
    """Field → column, as far as the headings show it."""
    left = {normalize_heading(column): column for column in reversed(columns)}
    origin = origin_of(columns)
    # the numbers of any other sheet are none of Waypost's links: "ID" is only chosen by a person then
    meant = {**({} if origin == WAYPOST else {"id": ""}), **MEANT.get(origin or "", {})}
    found = {field: left.pop(heading) for field, heading in meant.items() if heading in left}
    for field, column in COLUMNS.items():
        if field not in found and meant.get(field) != "":
            heading = next((one for one in map(normalize_heading, column.headings) if one in left), None)
            if heading is not None:
                found[field] = left.pop(heading)
    return with_destination(found)


def with_destination(found: dict[str, str]) -> dict[str, str]:
    """Without a column for the destination, use one that may be a short link: `link,slug` of Switchy."""
    if "location_url" in found:
        return found
    whole = set(map(normalize_heading, WHOLE))
    field = next(
        (name for name in ("short_url", "url") if normalize_heading(found.get(name, "")) in whole), None
    )
    return {("location_url" if name == field else name): column for name, column in found.items()}


def guess_by_content(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Field → column for a table without headings: the last column of URLs is the destination.

    The alias is the first other column of URLs, else the first of short words.
    """
    some = list(rows)
    addresses = [one for one in columns if any("://" in row.get(one, "") for row in some)]
    short = [
        one
        for one in columns
        if one not in addresses and any(re.fullmatch(r"[^\s/]{1,64}", row.get(one, "")) for row in some)
    ]
    fields = {"location_url": addresses[-1:], "url": addresses[:-1] or short}
    return {field: names[0] for field, names in fields.items() if names}


def guess_from_table(table: TableFormat) -> dict[str, str]:
    """Field → column for a table, by its headings, or without any by the contents of its first rows."""
    if table.has_headings:
        return with_alias(guess(table.columns), table)
    return guess_by_content(table.columns, [row.cells for row in islice(table.rows(), SOME)])


def with_alias(found: dict[str, str], table: TableFormat) -> dict[str, str]:
    """The same with the alias in place of a destination that has no address in it: `url,title`."""
    if "location_url" not in found or "url" in found:
        return found
    texts = [row.cells.get(found["location_url"], "") for row in islice(table.rows(), SOME)]
    if not any(texts) or any("://" in text or "." in text for text in texts):
        return found
    return {("url" if name == "location_url" else name): column for name, column in found.items()}


def left_out(table_columns: Iterable[str], chosen: Mapping[str, str]) -> list[str]:
    """Columns that are not read. `chosen`: field → column."""
    read = set(chosen.values())
    return [column for column in table_columns if column not in read]


def origin_of(columns: Sequence[str]) -> str | None:
    """The service whose file this looks like."""
    headings = {normalize_heading(column) for column in columns}
    return next((name for name, signs in ORIGINS.items() if any(sign <= headings for sign in signs)), None)


# --- conventions

MAX_ROWS = 20_000  # that are read to recognise conventions
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
