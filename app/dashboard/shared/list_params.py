"""Parameters of a list's address, and the template context of the list."""

# see docs/decisions/2026-11-21-rows-on-a-page.md
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from flask_login import current_user

from app.core.errors import FieldError, Invalid, WaypostError
from app.dashboard.shared import rendering
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import DEFAULT_SIZE, SIZES, Listing, Page, find_page
from app.web.body import parse_query, read_list_query

ListParams = dict[str, str]
Columns = Mapping[str, str]
COLUMNS, NONE = "columns", "none"
NO_COLUMNS: Columns = {}
MAX_PAGE_SIZE = 250  # rows of a page; the API's lists have up to 1,000
ORDER_WORDS = {
    "last_datetime": _l("Last edit"),
    "clicks": _l("Clicks"),
    "url": _l("Short link"),
    "name": _l("Name"),
    "host": _l("Host"),
}


class Control(NamedTuple):
    """One filter: its parameter, and its values with their words (the first: no filter). No values: a day."""

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


def of_request(columns: Columns = NO_COLUMNS) -> ListParams:
    """The list parameters of this request. Empty ones, as of untouched controls, are left out.

    Raises Malformed, Invalid.
    """
    return of_pairs(read_list_query(), columns)


def of_pairs(pairs: Sequence[tuple[str, str]], columns: Columns) -> ListParams:
    pairs = [(name, value) for name, value in pairs if value]
    named = [value for name, value in pairs if name == COLUMNS]
    found = {name: value for name, value in pairs if name != COLUMNS}
    chosen = [name for name in columns if name in ",".join(named).split(",")]
    if named and columns and len(chosen) < len(columns):
        found[COLUMNS] = ",".join(chosen) or NONE
    return found


def columns_of(params: ListParams, columns: Columns) -> set[str]:
    """The columns to show; all of them unless the parameters say otherwise."""
    return set(params[COLUMNS].split(",") if COLUMNS in params else columns)


def of_current_page(list_address: str, columns: Columns = NO_COLUMNS) -> ListParams:
    """The parameters of the page on which htmx was used, if that is the list; else none."""
    try:
        return of_pairs(parse_query(rendering.current_query(list_address)), columns)
    except WaypostError:  # the dashboard has no such page: the header is forged or broken
        return {}


def list_context(
    params: ListParams,
    fresh: Sequence[Any],
    *,
    listing: Listing[Any],
    controls: Sequence[Control],
    columns: Columns,
    address: Callable[..., str],
) -> dict[str, Any]:
    """Context of the list's template. `fresh` rows come first, whatever the parameters are.

    `address` makes the list's address with the parameters that it is given.
    """
    page, wrong = find(listing, params)
    rows = [*fresh, *(row for row in page.rows if row not in fresh)]
    return {
        "page": replace(page, rows=rows),
        "first": (page.page - 1) * page.results_per_page + 1,
        "fresh": [row.id for row in fresh],
        "params": params,
        "shown": columns_of(params, columns),
        "wrong": wrong,
        "controls": controls,
        "applied": applied(controls, params, address),
        "orders": [
            ("", _("Created")),
            *((name, ORDER_WORDS[name]) for name in listing.orders if name in ORDER_WORDS),
        ],
        "sizes": sizes(params),
        "matching": urlencode({name: value for name, value in params.items() if name in listing.filters}),
        "to_page": lambda number: address(**{**params, "page": str(number)}),
        "zone": rendering.owner_zone(),
    }


def sizes(params: ListParams) -> list[tuple[str, str]]:
    """The page sizes to offer: those up to MAX_PAGE_SIZE, and the one that the address asks for."""
    offered = [size for size in SIZES if size <= MAX_PAGE_SIZE or params.get("results_per_page") == str(size)]
    return [("" if size == DEFAULT_SIZE else str(size), str(size)) for size in offered]


def find(listing: Listing[Any], params: Mapping[str, str]) -> tuple[Page[Any], Sequence[FieldError]]:
    """The page of rows, newest first by default; for invalid parameters an empty page and the errors."""
    try:
        return find_page(listing, current_user.id, {"order_type": "DESC", **params}), ()
    except Invalid as invalid:
        return Page([], 1, DEFAULT_SIZE, 0), invalid.errors


def applied(controls: Sequence[Control], params: ListParams, address: Callable[..., str]) -> list[Applied]:
    shown = [Control("search", _("Search")), *controls]
    return [
        Applied(control.label, control.word(params[control.name]), address(**without(params, control.name)))
        for control in shown
        if control.name in params
    ]


def without(params: ListParams, name: str) -> ListParams:
    return {key: value for key, value in params.items() if key not in {name, "page"}}
