"""Parameters of a list's address, and the template context of the list."""

# see docs/decisions/2026-11-21-rows-on-a-page.md
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from app.core.errors import FieldError, Invalid, WaypostError
from app.dashboard.shared import rendering
from app.dashboard.shared.workspace import workspace_id
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import DEFAULT_SIZE, NOT, SIZES, Listing, Page, find_page
from app.input.params import Several, values_of
from app.web.body import parse_query, read_list_query

ListParams = dict[str, str]
Columns = Mapping[str, str]
COLUMNS, NONE = "columns", "none"
RESERVED = {"endpoint", "_anchor", "_external", "_method", "_scheme"}  # those of `url_for` itself
START = "rows"  # the id of the list: there a new page of it begins, with the focus
NO_COLUMNS: Columns = {}
MAX_COUNTED = 10_000  # rows of a list; if there are more, it says `10,000+`
MAX_PAGE_SIZE = 250  # rows of a page; the API's lists have up to 1,000
ORDER_WORDS = {
    "last_datetime": _l("Last edit"),
    "clicks": _l("Clicks"),
    "url": _l("Short link"),
    "name": _l("Name"),
    "host": _l("Host"),
}


class Control(NamedTuple):
    """One filter: its parameter, and its values with their words. No values: a day.

    With `is_several` any number of values may be chosen; else one, the first of which is no filter.
    """

    name: str
    label: str
    options: Sequence[tuple[str, str]] = ()
    is_several: bool = False

    def word(self, value: str) -> str:
        return dict(self.options).get(value, value)

    def choices(self, params: ListParams) -> Sequence[tuple[str, str, bool]]:
        """The values with their words, and whether each is chosen; also a chosen one that is not on offer."""
        chosen = chosen_values(params, self.name)
        known = {value for value, _ in self.options}
        extra = [(value, value) for value in chosen if value not in known]
        return [(value, word, value in chosen) for value, word in (*self.options, *extra)]


class Applied(NamedTuple):
    """A filter that is on: its label, the words of its values, and the address of the list without it."""

    label: str
    words: Sequence[str]
    without: str


def of_request(columns: Columns = NO_COLUMNS, several: Collection[str] = ()) -> ListParams:
    """The list parameters of this request. Empty ones, as of untouched controls, are left out.

    Raises Malformed, Invalid.
    """
    return of_pairs(read_list_query(), columns, several)


def of_pairs(
    pairs: Sequence[tuple[str, str]], columns: Columns = NO_COLUMNS, several: Collection[str] = ()
) -> ListParams:
    """The parameters by name: of one sent twice the last, of those in `several` all values."""
    pairs = [(name, value) for name, value in pairs if value and name not in RESERVED]
    named = [value for name, value in pairs if name == COLUMNS]
    found = {name: value for name, value in pairs if name != COLUMNS}
    if several:
        for name in found.keys() & {*several, NOT}:
            found[name] = Several.of([value for key, value in pairs if key == name])
        # what is not to be there is said by the values of that filter: without any it says nothing
        excluded = [name for name in chosen_values(found, NOT) if name in found or name not in several]
        found = {**without_names(found, NOT), **({NOT: Several.of(excluded)} if excluded else {})}
    chosen = [name for name in columns if name in ",".join(named).split(",")]
    if named and columns and len(chosen) < len(columns):
        found[COLUMNS] = ",".join(chosen) or NONE
    return found


def columns_of(params: ListParams, columns: Columns) -> set[str]:
    """The columns to show; all of them unless the parameters say otherwise."""
    return set(params[COLUMNS].split(",") if COLUMNS in params else columns)


def chosen_values(params: ListParams, name: str) -> Sequence[str]:
    return values_of(params[name]) if name in params else ()


def pairs_of(params: ListParams) -> list[tuple[str, str]]:
    """The parameters as the pairs of a query."""
    return [(name, value) for name in params for value in chosen_values(params, name)]


def without_names(params: ListParams, *names: str) -> ListParams:
    return {name: value for name, value in params.items() if name not in names}


def of_current_page(
    list_address: str, columns: Columns = NO_COLUMNS, several: Collection[str] = ()
) -> ListParams:
    """The parameters of the page on which htmx was used, if that is the list; else none."""
    try:
        return of_pairs(parse_query(rendering.current_query(list_address)), columns, several)
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
        "total": total_of(page),
        "fresh": [row.id for row in fresh],
        "params": params,
        "excluded": chosen_values(params, NOT),
        "shown": columns_of(params, columns),
        "wrong": wrong,
        "controls": controls,
        "applied": applied(controls, params, address),
        "orders": [
            ("", _("Created")),
            *((name, ORDER_WORDS[name]) for name in listing.orders if name in ORDER_WORDS),
        ],
        "sizes": sizes(params),
        "matching": urlencode([pair for pair in pairs_of(params) if pair[0] in {*listing.filters, NOT}]),
        "to_page": lambda number: f"{address(**{**params, 'page': str(number)})}#{START}",
        "zone": rendering.owner_zone(),
    }


def total_of(page: Page[Any]) -> str:
    """`1,234`, or `10,000+` where no more were counted."""
    return digits(page.total) if page.is_counted else f"{digits(MAX_COUNTED)}+"


def sizes(params: ListParams) -> list[tuple[str, str]]:
    """The page sizes to offer: those up to MAX_PAGE_SIZE, and the one that the address asks for."""
    offered = [size for size in SIZES if size <= MAX_PAGE_SIZE or params.get("results_per_page") == str(size)]
    return [("" if size == DEFAULT_SIZE else str(size), str(size)) for size in offered]


def find(listing: Listing[Any], params: Mapping[str, str]) -> tuple[Page[Any], Sequence[FieldError]]:
    """The page of rows, newest first by default; for invalid parameters an empty page and the errors."""
    try:
        wanted = {"order_type": "DESC", **params}
        return find_page(listing, workspace_id(), wanted, counted=MAX_COUNTED), ()
    except Invalid as invalid:
        return Page([], 1, DEFAULT_SIZE, 0), invalid.errors


def applied(controls: Sequence[Control], params: ListParams, address: Callable[..., str]) -> list[Applied]:
    shown = [Control("search", _("Search")), *controls]
    excluded = chosen_values(params, NOT)
    return [
        Applied(
            _("%(filter)s is not", filter=control.label) if control.name in excluded else control.label,
            [control.word(value) for value in chosen_values(params, control.name)],
            f"{address(**without(params, control.name))}#{START}",
        )
        for control in shown
        if control.name in params
    ]


def without(params: ListParams, name: str) -> ListParams:
    """The parameters of the first page without this filter."""
    excluded = [other for other in chosen_values(params, NOT) if other != name]
    left = without_names(params, name, "page", NOT)
    return left | ({NOT: Several.of(excluded)} if excluded else {})
