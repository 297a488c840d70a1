"""Counts clicks and visitors of each value of every dimension, for one day.

Clicks are given in the order of visitors, so that only one visitor's values have to be in memory.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Container, Generator, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from sqlalchemy import Engine, Select, func, select, tuple_

from app.analytics.day_lists import Visited
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import DAY_MS
from app.analytics.raw_queries import CLICKS, NO_VALUE, column, source

READ = 3000  # rows at once
CACHE_KIB = 32 * 1024
COLUMNS = tuple(dict.fromkeys(name for each in DIMENSIONS.values() for name in each.columns))
NUMBERS = ("visitor", "id", "is_bot", "link_id", *COLUMNS)


class InOrder:
    """One day's clicks, sorted by visitor. `visited`: how many of them each link has."""

    def __init__(self) -> None:
        self.visited: Visited = Counter()
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{CACHE_KIB}"):
            self._file.execute(f"PRAGMA {pragma}")
        columns = ", ".join(NUMBERS)
        self._file.execute(f"CREATE TABLE visit ({columns}, PRIMARY KEY (visitor, id)) WITHOUT ROWID")
        self._insert = f"INSERT INTO visit VALUES ({', '.join('?' * len(NUMBERS))})"  # noqa: S608

    def __enter__(self) -> InOrder:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._file.close()

    def fill(self, engine: Engine, workspace_id: int, day: int) -> Iterator[None]:
        after = day * DAY_MS, 0
        while True:
            with engine.connect().execution_options(reads=True) as connection:
                rows = connection.execute(wanted(workspace_id, day, after)).all()
            self.visited.update((bool(row.is_bot), row.link_id) for row in rows)
            self._file.execute("BEGIN")
            self._file.executemany(self._insert, [row[1:] for row in rows])
            self._file.execute("COMMIT")
            yield
            if len(rows) < READ:
                return
            after = rows[-1].time_ms, rows[-1].id

    def chunks(self, size: int) -> Iterator[list[Any]]:
        """Tuples of the columns in NUMBERS, at most `size` at once."""
        cursor = self._file.execute("SELECT * FROM visit ORDER BY visitor, id")
        while rows := cursor.fetchmany(size):
            yield rows

    def goes_on(self, visitor: str, id_: int) -> bool:
        """Whether the visitor has clicks after this one."""
        later = "SELECT 1 FROM visit WHERE visitor = ? AND id > ? LIMIT 1"
        return self._file.execute(later, (visitor, id_)).fetchone() is not None

    def of(self, visitor: str, size: int) -> Iterator[list[Any]]:
        """All clicks of one visitor, at most `size` at once."""
        cursor = self._file.execute("SELECT * FROM visit WHERE visitor = ? ORDER BY id", (visitor,))
        while rows := cursor.fetchmany(size):
            yield rows


def wanted(workspace_id: int, day: int, after: tuple[int, int]) -> Select[Any]:
    """The next rows of the day, in the order of the index. (Ids are not in the order of time.)"""
    key = CLICKS.c.time_ms, CLICKS.c.id
    visitor = func.coalesce(CLICKS.c.visitor, "").label("visitor")
    values = (func.coalesce(column(name), NO_VALUE).label(name) for name in COLUMNS)
    found = select(CLICKS.c.time_ms, visitor, CLICKS.c.id, CLICKS.c.is_bot, CLICKS.c.link_id, *values)
    mine = (
        CLICKS.c.workspace_id == workspace_id,
        CLICKS.c.time_ms >= after[0],
        CLICKS.c.time_ms < (day + 1) * DAY_MS,
    )
    later = tuple_(*key) > tuple_(*after)
    return found.select_from(source([*DIMENSIONS])).where(*mine, later).order_by(*key).limit(READ)


# a dimension's number, and the indexes of its one or two columns; the index -1 is an appended zero
PLACES = tuple(
    (each.number, COLUMNS.index(each.columns[0]), COLUMNS.index(each.columns[1]) if each.columns[1:] else -1)
    for each in DIMENSIONS.values()
)
READ_AHEAD = 2000  # rows of a visitor looked at in a step
Key = tuple[int, ...]
Counts = defaultdict[Key, list[int]]


def counts() -> Counts:
    """[pageviews, visitors] by (number, is_bot, value, path), for a link by (link_id, number, …)."""
    return defaultdict(lambda: [0, 0])


class Tally:
    """Counts for all links together, and for each of the given links (None: for every link)."""

    def __init__(self, links: Container[int] | None) -> None:
        self._apart = links
        self._visitor = ""
        self._said: set[Key] = set()
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

    def owner_rows(self, workspace_id: int, day: int) -> list[tuple[Any, ...]]:
        """Rows for the table `OwnerValue`; the counts start over at zero."""
        found, self.owner = self.owner, counts()
        return [
            (workspace_id, number, bool(is_bot), day, *rest, *count)
            for (number, is_bot, *rest), count in found.items()
        ]

    def link_rows(self, day: int) -> list[tuple[Any, ...]]:
        found, self.links = self.links, counts()
        return [
            (link_id, number, bool(is_bot), day, *rest, *count)
            for (link_id, number, is_bot, *rest), count in found.items()
        ]


class PrunedRowsTally(Tally):
    """Sums of rows that are pruned in batches, for all links together and for every link.

    A visitor's rows may be spread over several batches. A visitor counts once for each value, in the
    remaining rows as well as in the roll-ups, and reports add the two. So a visitor moves to the roll-ups
    with the last of their rows that has the value, and not before. Then every report is exact between two
    steps, and an interrupted run can start over with the remaining rows.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self._left: dict[str, Counter[Key]] = {}  # remaining rows by value, of visitors split over batches

    def look_ahead(self, visits: InOrder, rows: Sequence[Any]) -> Generator[None, None, None]:
        """Counts the last visitor's remaining rows; to be exhausted before these rows are added."""
        visitor, last = rows[-1][:2]
        if not visitor or visitor in self._left or not visits.goes_on(visitor, last):
            return
        left = self._left[visitor] = Counter()
        for some in visits.of(visitor, READ_AHEAD):
            left.update(key for row in some for _, key in self._keys(row))
            yield

    def add(self, rows: Iterable[Any]) -> None:
        in_parts = [row for row in rows if row[0] in self._left]
        super().add(row for row in rows if row[0] not in self._left)
        for row in in_parts:
            left = self._left[row[0]]
            for sums, key in self._keys(row):
                left[key] -= 1
                sums[key][0] += 1
                sums[key][1] += not left[key]
        # rows come in the order of visitors: only the last one can have more rows
        self._left = {row[0]: self._left[row[0]] for row in in_parts[-1:]}

    def _keys(self, row: Sequence[Any]) -> Iterator[tuple[Counts, Key]]:
        _visitor, _id, is_bot, link_id, *values = row
        values.append(0)
        for number, first, second in PLACES:
            key = number, is_bot, values[first], values[second]
            yield self.owner, key
            yield self.links, (link_id, *key)
