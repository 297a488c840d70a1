"""Counts clicks and visitors of each value of every dimension, for one day.

Clicks are given in the order of visitors, so that only one visitor's values have to be in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from typing import Any

from app.analytics.dimensions import DIMENSIONS
from app.analytics.sorted_day import COLUMNS

# a dimension's number, and the indexes of its one or two columns; the index -1 is an appended zero
PLACES = tuple(
    (each.number, COLUMNS.index(each.columns[0]), COLUMNS.index(each.columns[1]) if each.columns[1:] else -1)
    for each in DIMENSIONS.values()
)
Counts = defaultdict[tuple[int, ...], list[int]]


def counts() -> Counts:
    """[pageviews, visitors] by (number, is_bot, value, path), for a link by (link_id, number, …)."""
    return defaultdict(lambda: [0, 0])


class Tally:
    """Counts for all links together, and for each of the given links (None: for every link)."""

    def __init__(self, links: Container[int] | None) -> None:
        self._apart = links
        self._visitor = ""
        self._said: set[tuple[int, ...]] = set()
        self.owner, self.links = counts(), counts()

    def add(self, rows: Iterable[Any]) -> None:
        """Adds rows of `InOrder`. The loop runs up to 26 times for every click: hence no calls, few names."""
        said = self._said
        for visitor, _id, is_bot, link_id, *values in rows:
            if visitor != self._visitor:
                self._visitor, self._said = visitor, (said := set())
            is_apart = self._apart is None or link_id in self._apart
            values.append(0)
            for number, first, second in PLACES:
                key = number, is_bot, values[first], values[second]
                count = self.owner[key]
                count[0] += 1
                if visitor and key not in said:
                    said.add(key)
                    count[1] += 1
                if is_apart:
                    of_link = link_id, *key
                    count = self.links[of_link]
                    count[0] += 1
                    if visitor and of_link not in said:
                        said.add(of_link)
                        count[1] += 1

    def owner_rows(self, user_id: int, day: int) -> list[tuple[Any, ...]]:
        """Rows for the table `OwnerValue`; the counts start over at zero."""
        found, self.owner = self.owner, counts()
        return [
            (user_id, number, bool(is_bot), day, *rest, *count)
            for (number, is_bot, *rest), count in found.items()
        ]

    def link_rows(self, day: int) -> list[tuple[Any, ...]]:
        found, self.links = self.links, counts()
        return [
            (link_id, number, bool(is_bot), day, *rest, *count)
            for (link_id, number, is_bot, *rest), count in found.items()
        ]
