"""Filters and search of the link list, with those that the API does not have, and the saved views above it.

In a search every word must be found, in any order and in any place: alias, destination, title, notes and
tags. A pasted short link finds its link, whatever is written before or behind it. (The API's `search` takes
its text as one literal.)
"""

# see docs/decisions/2026-11-24-filters-and-saved-views.md
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

from sqlalchemy import Column, ColumnElement, and_, or_, select

from app.accounts.access import Access
from app.core import clock
from app.core.errors import WaypostError
from app.core.extensions import db
from app.dashboard.links.rows import COLUMNS, own_host
from app.dashboard.links.states import STATES, state_conditions
from app.dashboard.shared import list_params
from app.dashboard.shared.list_params import ListParams
from app.dashboard.shared.workspace import workspace_id
from app.domains.models import Domain
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import MAX_ID
from app.input.listing import NOT, one_of
from app.input.params import QueryParams
from app.input.parsers import parse_integer
from app.links import lists, targeting
from app.links.aliases import key_of
from app.links.models import Alias, Link, SavedView, link_notification_handler
from app.links.saved_views import views_of
from app.links.schema import SETTINGS
from app.web.body import parse_query


class Rule(NamedTuple):
    """An option that a link may have: its word, and the condition that a link has it."""

    word: str
    applies: ColumnElement[bool]


def is_on(name: str) -> ColumnElement[bool]:
    """Whether a setting is on: true, or not empty."""
    column: Column[Any] = Link.__table__.c[name]
    return column.is_not(None) if column.nullable else column.is_(True)


RULES: Mapping[str, Rule] = {
    "targeting": Rule(_l("Targeted, by anything"), Link.targeting_type.is_not(None)),
    **{
        name: Rule(_l("Targeted by: %(type)s", type=one.label), Link.targeting_type == name)
        for name, one in targeting.TYPES.items()
    },
    **{one.rule: Rule(one.summary, is_on(name)) for name, one in SETTINGS.items() if one.rule},
}


MAX_WORDS = 8  # each costs the database a look at all rows; the rest are taken as one text
# a host, perhaps with a port, and an alias; `+` asks for the destination
SHORT_ADDRESS = re.compile(r"(?:https?://)?([^\s/?#@]+)/([^\s?#]+?)[+/]?(?:[?#]\S*)?", re.IGNORECASE)


def find_words(text: str, params: QueryParams) -> ColumnElement[bool] | None:
    """Links that have every word of the text. With `search_by` the API's search, of the whole text."""
    if params.get("search_by"):
        return lists.by_index(text, lists.searched(text, params))
    words = text.split(maxsplit=MAX_WORDS - 1)
    return and_(*(find_word(word, params) for word in words)) if words else None


def find_word(word: str, params: QueryParams) -> ColumnElement[bool]:
    found = lists.by_index(word, lists.searched(word, params), lists.noted(word))
    link_id = id_of_short_address(word)
    return found if link_id is None else or_(found, Link.id == link_id)


def id_of_short_address(text: str) -> int | None:
    """The user's link with this short link, on this instance's own host or on a domain of the user."""
    match = SHORT_ADDRESS.fullmatch(text)
    if not match:
        return None
    host, alias = match[1].casefold(), unquote(match[2])
    mine = Alias.workspace_id == workspace_id()
    if host == own_host().casefold():
        on_host = Alias.domain_id == 0
    else:
        domain = select(Domain.id).where(Domain.workspace_id == workspace_id(), Domain.host == host)
        on_host = Alias.domain_id.in_(domain)
    return db.session.scalar(select(Alias.link_id).where(mine, on_host, Alias.key == key_of(alias)))


def in_state(text: str, params: QueryParams) -> ColumnElement[bool]:  # noqa: ARG001
    return state_conditions(clock.now())[one_of(list(STATES))(text)]


def has_rule(text: str, params: QueryParams) -> ColumnElement[bool]:  # noqa: ARG001
    return RULES[one_of(list(RULES))(text)].applies


def tells_handler(text: str, params: QueryParams) -> ColumnElement[bool]:  # noqa: ARG001
    column = link_notification_handler.c.notification_handler_id
    is_it = column == parse_integer(text, 0, MAX_ID)
    return Link.id.in_(select(link_notification_handler.c.link_id).where(is_it))


OWN = {"search": find_words, "state": in_state, "rule": has_rule, "handler_id": tells_handler}
# `state` says more than `is_enabled`
SHARED = {name: read for name, read in lists.LISTING.filters.items() if name != "is_enabled"}
SEVERAL = ("state", "rule", "project_id", "domain_id", "tag", "pixel_id", "handler_id")
LISTING = replace(lists.LISTING, filters={**SHARED, **OWN}, several=SEVERAL)


# --- saved views


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


def read_kept_query(query: str) -> ListParams:
    """The parameters of a query that a view may keep; of one that can't be read none."""
    try:
        pairs = parse_query(query.encode())
    except WaypostError:
        return {}
    return list_params.of_pairs([pair for pair in pairs if pair[0] in KEPT], COLUMNS, LISTING.several)


def params_of(view: SavedView) -> ListParams:
    return read_kept_query(view.query)


def params_to_show(view: SavedView) -> ListParams:
    return {**params_of(view), VIEW: str(view.id)}
