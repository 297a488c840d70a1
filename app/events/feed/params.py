"""Reads what a request asks of the feed."""

from __future__ import annotations

from typing import NamedTuple

from app.accounts.access import MAX_ID
from app.events.feed.reading import MAX_LIMIT
from app.events.types import TYPES
from app.input.data import RequestData
from app.input.listing import one_of
from app.input.params import ParamReader
from app.input.parsers import parse_integer

DEFAULT_LIMIT = 100


class FeedParams(NamedTuple):
    """The cursor, the filters and the size of a page. None: not asked for."""

    after: str | None
    types: frozenset[str] | None
    link_id: int | None
    limit: int


def read_feed_params(data: RequestData) -> FeedParams:
    """Reads the parameters; raises Invalid with every one that can't be used. An empty one counts as missing.

    What is no cursor is not refused here: the feed says that it is unknown.
    """
    scalars = {name: str(data.last(name)) for name in ("after", "link_id", "limit") if name in data}
    reader = ParamReader(scalars, ignores_empty=True)
    known = one_of(TYPES)
    types = [reader.parse("type", str(text), "", known) for _, text in data.members("type")]
    link_id = reader.read("link_id", None, lambda text: parse_integer(text, 1, MAX_ID))
    limit = reader.read("limit", DEFAULT_LIMIT, lambda text: parse_integer(text, 1, MAX_LIMIT))
    reader.require_valid()
    return FeedParams(scalars.get("after") or None, frozenset(types) or None, link_id, limit)
