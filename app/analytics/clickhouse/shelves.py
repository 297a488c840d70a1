"""Shelves: which are rolled up, which are removed, and which hold clicks of other days.

All of it is read by one statement, so that what is counted by roll-ups and what is counted by single clicks
fit together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.schema import ALONE, DONE, SHELF
from app.analytics.periods import QUARTERS

COPIED = 0  # the shelf, and the number, of what was rolled up and removed before it was copied from SQL
LATEST = f"SELECT max(number) FROM roll_up WHERE state >= {DONE} GROUP BY shelf"


class Rolled(NamedTuple):
    """The roll-up of an owner's day, by its number, and how many clicks it holds."""

    number: int
    clicks: int


class Shelves(NamedTuple):
    """`removed`: the numbers that stand for the removed shelves. `late`: the shelves of the owner that may
    hold clicks of other days. `rolled`: the owner's days whose roll-ups hold exactly the clicks that there
    are."""

    removed: dict[int, int]
    late: frozenset[int]
    rolled: dict[int, Rolled]

    def removed_since(self, day: int) -> list[int]:
        """The removed shelves that may hold clicks of this day or of later ones."""
        return [shelf for shelf in self.removed if shelf >= day or shelf == COPIED]


def removed_shelves(server: ClickHouse) -> list[int]:
    """The shelves of which only roll-ups are left."""
    found = server.query(f"SELECT DISTINCT shelf FROM roll_up WHERE state = {ALONE} ORDER BY shelf")
    return [COPIED, *(row[0] for row in found)]


def read_shelves(server: ClickHouse, workspace_id: int, days: range = range(0)) -> Shelves:
    """What is known of the shelves, and of the owner's days among `days`. 0: of all owners."""
    found: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for kind, key, *its in server.query(" UNION ALL ".join(statements(workspace_id, days))):
        found[kind][key] = its[0], its[1]
    removed, rolled = {COPIED: COPIED}, {}
    for shelf, (number, state) in found["shelf"].items():
        if state == ALONE:
            removed[shelf] = number
        elif shelf in found["there"] and found["held"].get(number) == found["there"][shelf]:
            rolled[shelf] = Rolled(number, found["there"][shelf][0])
    return Shelves(removed, frozenset(found["late"]), rolled)


def statements(workspace_id: int, days: range) -> Iterable[str]:
    """SELECTs of a kind and three numbers."""
    yield (
        "SELECT 'shelf' AS kind, toUInt64(shelf) AS a, max(number) AS b, toUInt64(argMax(state, number)) AS c"
        f" FROM roll_up WHERE state >= {DONE} GROUP BY shelf"
    )
    mine = f"user_id = {workspace_id:d}" if workspace_id else "1"
    yield f"SELECT DISTINCT 'late', toUInt64(shelf), toUInt64(0), toUInt64(0) FROM late_shelf WHERE {mine}"
    if days:
        first, last = max(days.start, 0), max(days.stop, 0)
        yield (
            f"SELECT 'held', number, pageviews, toUInt64(0) FROM rolled_clicks WHERE {mine}"
            f" AND {SHELF} >= {first:d} AND {SHELF} < {last:d}"
        )
        yield (
            f"SELECT 'there', toUInt64(intDiv(quarter, {QUARTERS})) AS day, sum(pageviews), toUInt64(0)"
            f" FROM owner_quarter WHERE {mine} AND quarter >= {first * QUARTERS:d}"
            f" AND quarter < {last * QUARTERS:d} GROUP BY day"
        )
