"""What do rows that are removed leave behind, where some of a visitor's rows are removed before others?

A visitor counts once with each value, in the rows that are left as well as in the roll-ups, and reports add
the two. So he moves to the roll-ups with the last of his rows that has the value, and not before: then every
report is exact between two steps, and whoever begins anew with the rows that are left goes on as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from app.clicks.in_order import InOrder
from app.clicks.tally import PLACES, Counts, Tally

READ = 2000  # rows looked at in a step
Key = tuple[int, ...]


class Leaving(Tally):
    """The sums of rows as they go, of all visits together and of every link apart."""

    def __init__(self) -> None:
        super().__init__(None)
        self._left: dict[str, Counter[Key]] = {}  # rows with each value, of visitors who leave in parts

    def look_ahead(self, visits: InOrder, rows: Sequence[Any]) -> Generator[None, None, None]:
        """To be exhausted before these rows are added: does the last one's visitor come in later ones?"""
        visitor, last = rows[-1][:2]
        if not visitor or visitor in self._left or not visits.goes_on(visitor, last):
            return
        left = self._left[visitor] = Counter()
        for some in visits.of(visitor, READ):
            left.update(key for row in some for _, key in self._keys(row))
            yield

    def add(self, rows: Iterable[Any]) -> None:
        in_parts = [row for row in rows if row[0] in self._left]
        super().add(row for row in rows if row[0] not in self._left)
        for row in in_parts:
            left = self._left[row[0]]
            for counts, key in self._keys(row):
                left[key] -= 1
                counts[key][0] += 1
                counts[key][1] += not left[key]
        # rows come in the order of visitors: of those before the last one there are no more
        self._left = {row[0]: self._left[row[0]] for row in in_parts[-1:]}

    def _keys(self, row: Sequence[Any]) -> Iterator[tuple[Counts, Key]]:
        _visitor, _id, is_bot, link_id, *values = row
        values.append(0)
        for number, first, second in PLACES:
            key = number, is_bot, values[first], values[second]
            yield self.owner, key
            yield self.links, (link_id, *key)
