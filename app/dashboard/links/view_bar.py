"""The saved views above the list of links: which one is shown, and whether the list was changed since."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

from app.accounts.access import Access
from app.core.errors import WaypostError
from app.dashboard.links.filters import LISTING
from app.dashboard.links.rows import COLUMNS
from app.dashboard.shared import list_params
from app.dashboard.shared.list_params import ListParams
from app.input.listing import NOT
from app.links.models import SavedView
from app.links.saved_views import views_of
from app.web.body import parse_query

VIEW = "view"  # the parameter that says which saved view the list began with
KEPT = (*LISTING.filters, NOT, "order_by", "order_type", "results_per_page", list_params.COLUMNS)


class ViewBar(NamedTuple):
    """The saved views, the one that is shown, and the query of what the list shows now."""

    views: list[tuple[SavedView, ListParams]]
    current: SavedView | None
    is_changed: bool
    query: str


def view_bar(access: Access, params: ListParams) -> ViewBar:
    views = views_of(access)
    current = next((view for view in views if str(view.id) == params.get(VIEW)), None)
    query = query_of(params)
    is_changed = current is not None and query != query_of(params_of(current))
    return ViewBar([(view, params_to_show(view)) for view in views], current, is_changed, query)


def query_of(params: ListParams) -> str:
    """What a view keeps of the parameters. The same list has the same text, whatever the order of them."""
    return urlencode(sorted(pair for pair in list_params.pairs_of(params) if pair[0] in KEPT))


def read_query(query: str) -> ListParams:
    """The parameters of a query that a view may keep; of one that can't be read none."""
    try:
        pairs = parse_query(query.encode())
    except WaypostError:
        return {}
    return list_params.of_pairs([pair for pair in pairs if pair[0] in KEPT], COLUMNS, LISTING.several)


def params_of(view: SavedView) -> ListParams:
    return read_query(view.query)


def params_to_show(view: SavedView) -> ListParams:
    return {**params_of(view), VIEW: str(view.id)}
