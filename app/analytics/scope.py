"""Scope of a statistics query, and the counts that it returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sqlalchemy.engine import Connection

from app.core.database import AnySession

BATCH_SIZE = 10_000  # values in one statement's list

Bind = AnySession | Connection
Filters = Mapping[str, str | None]


class VisitCounts(NamedTuple):
    """Clicks and visitors.

    A visitor counts once a UTC day within the scope (once for each link, if links are given), at the time of
    their first click. So days add up in every time zone.
    """

    pageviews: int
    visitors: int


NONE = VisitCounts(0, 0)


@dataclass(frozen=True)
class Scope:
    """All clicks of an owner, or those on some links. `is_bot`: humans' or bots' clicks; None means both."""

    workspace_id: int
    link_ids: tuple[int, ...] | None = None
    is_bot: bool | None = False
    filters: Filters = field(default_factory=dict)

    @property
    def parts(self) -> Iterator[Scope]:
        """The scope split into parts that fit into one statement; none for an empty list of links."""
        if self.link_ids is None:
            yield self
            return
        ids = sorted(set(self.link_ids))
        for start in range(0, len(ids), BATCH_SIZE):
            yield replace(self, link_ids=tuple(ids[start : start + BATCH_SIZE]))


def add_counts(counts: Iterable[VisitCounts]) -> VisitCounts:
    """The sum of counts."""
    pageviews = visitors = 0
    for count in counts:
        pageviews, visitors = pageviews + count[0], visitors + count[1]
    return VisitCounts(pageviews, visitors)
