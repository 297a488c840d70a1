"""Sums of rows that are pruned in batches, when a visitor's rows are spread over several batches.

A visitor counts once for each value, in the remaining rows as well as in the roll-ups, and reports add the
two. So a visitor moves to the roll-ups with the last of their rows that has the value, and not before. Then
every report is exact between two steps, and an interrupted run can start over with the remaining rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from app.analytics.sorted_day import InOrder
from app.analytics.tally import PLACES, Counts, Tally

READ = 2000  # rows looked at in a step
Key = tuple[int, ...]


class Leaving(Tally):
    """Sums of pruned rows, for all links together and for every link."""

    def __init__(self) -> None:
        super().__init__(None)
        self._left: dict[str, Counter[Key]] = {}  # remaining rows by value, of visitors split over batches

    def look_ahead(self, visits: InOrder, rows: Sequence[Any]) -> Generator[None, None, None]:
        """Counts the last visitor's remaining rows; to be exhausted before these rows are added."""
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
        # rows come in the order of visitors: only the last one can have more rows
        self._left = {row[0]: self._left[row[0]] for row in in_parts[-1:]}

    def _keys(self, row: Sequence[Any]) -> Iterator[tuple[Counts, Key]]:
        _visitor, _id, is_bot, link_id, *values = row
        values.append(0)
        for number, first, second in PLACES:
            key = number, is_bot, values[first], values[second]
            yield self.owner, key
            yield self.links, (link_id, *key)
