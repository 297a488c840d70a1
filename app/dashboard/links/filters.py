"""Filters of the link list, with those that the API does not have."""

# see docs/decisions/2026-11-24-filters-and-saved-views.md
from __future__ import annotations

from dataclasses import replace

from sqlalchemy import ColumnElement, select

from app.core import clock
from app.dashboard.links.search import find_words
from app.dashboard.links.states import STATES, state_conditions
from app.input.forms import MAX_ID
from app.input.listing import one_of
from app.input.params import QueryParams
from app.input.parsers import parse_integer
from app.links import lists
from app.links.models import Link, link_notification_handler
from app.links.options import RULES


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
