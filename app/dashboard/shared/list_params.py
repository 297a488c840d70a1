"""Which list does an address ask for, and how is that shown back?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from flask_login import current_user

from app.bodies import parse_query, read_list_query
from app.dashboard import pages
from app.errors import FieldError, Invalid, WaypostError
from app.lists import DEFAULT_SIZE, SIZES, Page, find_page

if TYPE_CHECKING:
    from app.dashboard.family import Family

Asked = dict[str, str]
Columns = Mapping[str, str]
COLUMNS, NONE = "columns", "none"
NO_COLUMNS: Columns = {}
MOST = 250  # rows of a page; the API's lists have up to 1,000
ORDER_WORDS = {
    "last_datetime": "Last edit",
    "clicks": "Clicks",
    "url": "Short address",
    "name": "Name",
    "host": "Host",
}


class Control(NamedTuple):
    """One filter: its parameter, and its values with their words (the first is no filter); none: a day."""

    name: str
    label: str
    options: Sequence[tuple[str, str]] = ()

    def word(self, value: str) -> str:
        return dict(self.options).get(value, value)


class Applied(NamedTuple):
    """A filter that is on, and the address of the list without it."""

    label: str
    value: str
    without: str


def of_request(columns: Columns = NO_COLUMNS) -> Asked:
    """The parameters of this request's list; what is empty, as an untouched control is, asks for nothing.

    Raises Malformed, Invalid.
    """
    return of_pairs(read_list_query(), columns)


def of_pairs(pairs: Sequence[tuple[str, str]], columns: Columns) -> Asked:
    pairs = [(name, value) for name, value in pairs if value]
    named = [value for name, value in pairs if name == COLUMNS]
    found = {name: value for name, value in pairs if name != COLUMNS}
    chosen = [name for name in columns if name in ",".join(named).split(",")]
    if named and columns and len(chosen) < len(columns):
        found[COLUMNS] = ",".join(chosen) or NONE
    return found


def columns_of(asked: Asked, columns: Columns) -> set[str]:
    """Which of the columns to show; all of them unless the address says otherwise."""
    return set(asked[COLUMNS].split(",") if COLUMNS in asked else columns)


def of_current_page(list_address: str, columns: Columns = NO_COLUMNS) -> Asked:
    """Those of the page on which htmx was used, where that is the list."""
    try:
        return of_pairs(parse_query(pages.current_query(list_address)), columns)
    except WaypostError:  # no browser of ours was ever on such a page
        return {}


def answer(family: Family, asked: Asked, fresh: Sequence[Any] = ()) -> dict[str, Any]:
    """All that the list's template shows. `fresh` rows come first, whatever is asked for."""
    page, wrong = find(family, asked)
    rows = [*fresh, *(row for row in page.rows if row not in fresh)]
    controls = family.controls(current_user)
    return {
        "page": replace(page, rows=rows),
        "first": (page.page - 1) * page.results_per_page + 1,
        "fresh": [row.id for row in fresh],
        "asked": asked,
        "shown": columns_of(asked, family.columns),
        "wrong": wrong,
        "controls": controls,
        "applied": applied(family, controls, asked),
        "orders": [
            ("", "Created"),
            *((name, ORDER_WORDS[name]) for name in family.listing.orders if name in ORDER_WORDS),
        ],
        "sizes": sizes(asked),
        "matching": urlencode(
            {name: value for name, value in asked.items() if name in family.listing.filters}
        ),
        "to_page": lambda number: family.address(**{**asked, "page": str(number)}),
        "zone": pages.zone(),
        **family.beside_rows(rows),
    }


def sizes(asked: Asked) -> list[tuple[str, str]]:
    """How many rows a page is offered with: as many as are made in time, and what the address asks for."""
    offered = [size for size in SIZES if size <= MOST or asked.get("results_per_page") == str(size)]
    return [("" if size == DEFAULT_SIZE else str(size), str(size)) for size in offered]


def find(family: Family, asked: Mapping[str, str]) -> tuple[Page[Any], Sequence[FieldError]]:
    """The page, newest first unless another order is asked for; or what can't be asked."""
    try:
        return find_page(family.listing, current_user.id, {"order_type": "DESC", **asked}), ()
    except Invalid as invalid:
        return Page([], 1, DEFAULT_SIZE, 0), invalid.errors


def applied(family: Family, controls: Sequence[Control], asked: Asked) -> list[Applied]:
    shown = [Control("search", "Search"), *controls]
    return [
        Applied(control.label, control.word(asked[control.name]), without(family, asked, control.name))
        for control in shown
        if control.name in asked
    ]


def without(family: Family, asked: Asked, name: str) -> str:
    kept = {key: value for key, value in asked.items() if key not in {name, "page"}}
    return family.address(**kept)
