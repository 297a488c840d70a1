"""Entries of one workspace's feed in their order, with filters, a bounded number at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, select

from app.core.database import AnySession
from app.events.entries import ENTRIES
from app.events.types import CLICKED, TYPES

# all but the events themselves, which may be large: their sizes say how many a page can take
COLUMNS = [
    *(column for column in ENTRIES.c if column is not ENTRIES.c.content),
    func.length(ENTRIES.c.content).label("size"),
]


class FeedFilter(NamedTuple):
    """What is wanted of a workspace's feed; None for all."""

    workspace_id: int
    types: frozenset[str] | None = None
    link_id: int | None = None

    @property
    def streams(self) -> Iterator[list[ColumnElement[bool]]]:
        """Conditions of parts of the feed, each in the order of an index."""
        mine = ENTRIES.c.workspace_id == self.workspace_id
        if self.types is None and self.link_id is None:
            yield [mine]
            return
        types = [type_ for type_ in TYPES if self.types is None or type_ in self.types]
        if self.link_id is None:
            yield from ([mine, ENTRIES.c.type == type_] for type_ in types)
            return
        if CLICKED in types:
            yield [mine, ENTRIES.c.type == CLICKED]
        others = [type_ for type_ in types if type_ != CLICKED]
        if others:
            yield [mine, ENTRIES.c.link_id == self.link_id, ENTRIES.c.type.in_(others)]


def read_forward(session: AnySession, wanted: FeedFilter, first: int, last: int, limit: int) -> list[Any]:
    """The first entries from one position to another, both included: `limit` at most, none only where there
    is none."""
    within = ENTRIES.c.position >= first, ENTRIES.c.position <= last
    parts = [
        session.execute(entries_of(conditions, within).order_by(ENTRIES.c.position).limit(limit)).all()
        for conditions in wanted.streams
    ]
    return sorted((row for part in parts for row in part), key=position_of)[:limit]


def read_backward(session: AnySession, wanted: FeedFilter, first: int, last: int, limit: int) -> list[Any]:
    """The same from the last one on, the newest first."""
    within = ENTRIES.c.position >= first, ENTRIES.c.position <= last
    order = ENTRIES.c.position.desc()
    parts = [
        session.execute(entries_of(conditions, within).order_by(order).limit(limit)).all()
        for conditions in wanted.streams
    ]
    return sorted((row for part in parts for row in part), key=position_of, reverse=True)[:limit]


def entries_of(
    conditions: Sequence[ColumnElement[bool]], within: Collection[ColumnElement[bool]]
) -> Select[Any]:
    return select(*COLUMNS).where(*conditions, *within)


def position_of(row: Any) -> int:
    return int(row.position)
