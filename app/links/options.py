"""Options with which a link does more than redirect every visitor to one destination."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement

from app.i18n.messages import lazy_gettext as _l
from app.links import targeting
from app.links.models import Link
from app.links.schema import SETTINGS


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
