"""Whose visits are asked for, which of them, and how are they counted?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sqlalchemy.engine import Connection

from app.database import AnySession

AT_ONCE = 10_000  # of what stands in one statement's list

Bind = AnySession | Connection
Filters = Mapping[str, str | None]


class Count(NamedTuple):
    """A visitor counts once for a UTC day among what is asked for (where links are: on each of them), at
    the moment of the first visit; so days add up in every time zone."""

    pageviews: int
    visitors: int


NONE = Count(0, 0)


@dataclass(frozen=True)
class Scope:
    """All of an owner's visits, or those of some of his links. People's, or else bots'; None means both."""

    user_id: int
    link_ids: tuple[int, ...] | None = None
    is_bot: bool | None = False
    filters: Filters = field(default_factory=dict)

    @property
    def parts(self) -> Iterator[Scope]:
        """The same in parts that one statement takes; of no links there are none."""
        if self.link_ids is None:
            yield self
            return
        ids = sorted(set(self.link_ids))
        for start in range(0, len(ids), AT_ONCE):
            yield replace(self, link_ids=tuple(ids[start : start + AT_ONCE]))


def added(counts: Iterable[Count]) -> Count:
    """The sum."""
    pageviews = visitors = 0
    for count in counts:
        pageviews, visitors = pageviews + count[0], visitors + count[1]
    return Count(pageviews, visitors)
