"""One day's clicks of an owner, sorted by visitor and read in chunks.

In that order visitors are counted without memory that grows with the day. No index has this order, since it
would slow down every click. So a day is sorted in an unnamed temporary file, which is removed when closed.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
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
        CLICKS.c.user_id == workspace_id,
        CLICKS.c.time_ms >= after[0],
        CLICKS.c.time_ms < (day + 1) * DAY_MS,
    )
    later = tuple_(*key) > tuple_(*after)
    return found.select_from(source([*DIMENSIONS])).where(*mine, later).order_by(*key).limit(READ)
