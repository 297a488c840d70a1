"""What can an owner ask of the list of links beside what the API can be asked?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import ColumnElement, select

from app import clock
from app.dashboard.states import STATES, state_word
from app.forms import MOST_ID
from app.links import lists, targeting
from app.links.models import Link, link_notification_handler
from app.lists import Asked, one_of
from app.reading import whole


class Rule(NamedTuple):
    """Something that makes a link answer otherwise than by one redirect for all, for ever."""

    word: str
    applies: ColumnElement[bool]


RULES: Mapping[str, Rule] = {
    "targeting": Rule("Targeted, by anything", Link.targeting_type.is_not(None)),
    **{
        name: Rule(f"By {one.label.lower()}", Link.targeting_type == name)
        for name, one in targeting.TYPES.items()
    },
    "password": Rule("Password", Link.password_hash.is_not(None)),
    "sensitive_content": Rule("Warning page", Link.sensitive_content.is_(True)),
    "schedule": Rule("Schedule", Link.schedule.is_(True)),
    "clicks_limit": Rule("Click limit", Link.clicks_limit.is_not(None)),
    "cloaking": Rule("Cloaked", Link.cloaking_is_enabled.is_(True)),
    "app_linking": Rule("Opens apps", Link.app_linking_is_enabled.is_(True)),
}


def in_state(text: str, asked: Asked) -> ColumnElement[bool]:  # noqa: ARG001
    return state_word(clock.now()) == one_of(list(STATES))(text)


def has_rule(text: str, asked: Asked) -> ColumnElement[bool]:  # noqa: ARG001
    return RULES[one_of(list(RULES))(text)].applies


def tells_handler(text: str, asked: Asked) -> ColumnElement[bool]:  # noqa: ARG001
    column = link_notification_handler.c.notification_handler_id
    is_it = column == whole(text, 0, MOST_ID)
    return Link.id.in_(select(link_notification_handler.c.link_id).where(is_it))


OWN = {"state": in_state, "rule": has_rule, "handler_id": tells_handler}
# `state` says more than `is_enabled`
SHARED = {name: read for name, read in lists.LISTING.filters.items() if name != "is_enabled"}
LISTING = replace(lists.LISTING, filters={**SHARED, **OWN})
