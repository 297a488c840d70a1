"""An earlier version of a link, written as a form would send it, so that today's rules can judge it.

A destination may be one that is refused by now, an alias reserved, a domain turned off.
"""

# see docs/decisions/2026-11-25-restored-versions.md
from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from app.input.data import RequestData, Value
from app.links.models import Link
from app.links.previous_uploads import PICTURES

PAIRS = "targeting"


def as_sent(link: Link, changes: Mapping[str, Any]) -> RequestData:
    """The changes of `links.history.changes_back_to` as sent fields. Pictures were checked when they came."""
    plain = ((name, value) for name, value in changes.items() if name not in {PAIRS, *PICTURES})
    pairs = [pair for name, value in plain for pair in fields_of(name, value)]
    if PAIRS in changes:
        type_ = changes.get("targeting_type", link.targeting_type)
        pairs += fields_of_pairs(f"targeting_{type_}", changes[PAIRS])
    return RequestData(pairs)


def fields_of(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    if not isinstance(value, list):
        yield name, text_of(value)
        return
    yield from ((f"{name}[{index}]", text_of(one)) for index, one in enumerate(value))
    if not value:
        yield name, ""


def fields_of_pairs(name: str, pairs: list[list[str]]) -> Iterator[tuple[str, Value]]:
    for index, (key, to) in enumerate(pairs):
        yield f"{name}_key[{index}]", key
        yield f"{name}_value[{index}]", to
    if not pairs:
        yield f"{name}_key", ""


def text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return value.isoformat() if isinstance(value, dt.datetime) else str(value)
