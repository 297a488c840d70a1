"""Upkeep of clicks in ClickHouse: rolls up past days, and removes single clicks after CLICK_RETENTION_DAYS.

Whole shelves are rolled up, which is what makes visitors exact. A roll-up is used while it holds as many
clicks as there are: not one that was killed on its way, and not one that clicks came after.
(docs/decisions/2026-11-25-clickhouse.md)
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from sqlalchemy import Engine
from sqlalchemy.engine import Connection

from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.tables import (
    DAY_COLUMNS,
    DAY_OF,
    NOON_OF,
    VALUES,
    counted,
    make_tables,
    numbers,
    removed_shelves,
)
from app.analytics.clickhouse.writer import list_intents
from app.analytics.dimensions import DIMENSIONS
from app.analytics.engine import open_engine
from app.analytics.periods import day_number
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary

REST_SECONDS = 10.0
LATE = dt.timedelta(hours=1)  # clicks that come later than that cause another roll-up
READ_SECONDS = 60  # a page that has read which shelves are removed has read the rest by then
ONE_AT_A_TIME = 0x57_41_5B  # the number of the lock in PostgreSQL: only one machine rolls up at a time
BATCH_CLICKS = 250_000  # that are rolled up in a step: days with few clicks go together, statements cost more
Partition = tuple[int, int]  # a shelf, and a day whose clicks it holds


class ClickHouseUpkeep:
    """Runs the upkeep in steps, called from the worker's loop: a shelf in each."""

    def __init__(self, settings: Settings) -> None:
        self._server = clickhouse_of(settings.clickhouse_url or "")
        self._engine: Engine = open_engine(settings)
        self._retention = settings.click_retention_days
        self._rests_until = 0.0
        self._has_tables = False
        self.errors = ErrorBoundary("upkeep of ClickHouse")

    def step(self, now: dt.datetime) -> bool:
        """Does a part of what is due; returns whether there was any."""
        if time.monotonic() < self._rests_until:
            return False
        has_moved = False
        with self.errors.attempt(), self._engine.connect() as connection:
            if not is_alone(connection):
                return False
            oldest = min([day_number(now.date()), *(each.day for each in list_intents(connection))])
            has_moved = self._step(oldest - self._retention, day_number((now - LATE).date()))
        if not has_moved:
            self._rests_until = time.monotonic() + REST_SECONDS
        return has_moved

    def close(self) -> None:
        self._engine.dispose()

    def _step(self, oldest: int, today: int) -> bool:
        """`oldest`: the first shelf that is kept."""
        if not self._has_tables:
            make_tables(self._server)
            self._has_tables = True
        there = self._partitions()
        kept = {shelf for shelf, _ in there} - {*removed_shelves(self._server)}
        due = {shelf for shelf in kept if not self.errors.is_backed_off(shelf)}
        if gone := [shelf for shelf in sorted(due) if shelf < oldest]:
            self._remove(gone[:1])
        elif unread := self._read_no_more(there):
            self._server.work(f"ALTER TABLE click DROP PARTITION ID '{unread[0]}-{unread[1]}'")
        elif days := self._unrolled(there, due & {*range(oldest, today)}):
            self._roll(days)
        else:
            return False
        return True

    def _partitions(self) -> dict[Partition, int]:
        """How many clicks each partition has."""
        found = self._server.query(
            "SELECT partition_id, sum(rows) FROM system.parts WHERE database = currentDatabase()"
            " AND table = 'click' AND active AND rows > 0 GROUP BY partition_id"
        )
        named = ((name.split("-"), rows) for name, rows in found)
        return {(int(shelf), int(day)): int(rows) for (shelf, day), rows in named}

    def _read_no_more(self, there: Collection[Partition]) -> Partition | None:
        """A partition of a removed shelf that no page reads any more."""
        long_ago = f"moment <= now() - INTERVAL {READ_SECONDS:d} SECOND"
        found = {row[0] for row in self._server.query(f"SELECT shelf FROM removed WHERE {long_ago}")}
        return min((each for each in there if each[0] in found), default=None)

    def _unrolled(self, there: Mapping[Partition, int], shelves: Collection[int]) -> list[int]:
        """Days whose roll-ups do not hold what there is: the latest, as many as are a step."""
        held = dict(
            self._server.query(
                "SELECT shelf, sum(held) FROM (SELECT shelf, max(clicks) AS held FROM rolled"
                " GROUP BY user_id, shelf) GROUP BY shelf"
            )
        )
        rows = {day: there.get((day, day), 0) for day in sorted(shelves, reverse=True)}
        due = [day for day, count in rows.items() if count != held.get(day, 0)]
        sums = [*accumulate(rows[day] for day in due)]
        return due[: max(1, sum(total <= BATCH_CLICKS for total in sums))]

    def _remove(self, shelves: Sequence[int]) -> None:
        """From the moment on that a shelf is among the removed ones, its roll-up stands for it."""
        if self._roll(shelves, "[0, link_id]"):
            self._server.work(f"INSERT INTO removed VALUES ({shelves[0]:d}, now())")

    def _roll(self, shelves: Sequence[int], links: str = "[0]") -> bool:
        """Rolls shelves up, for all links of each owner or also for each; returns whether nothing came
        meanwhile."""
        some, keys = f"shelf IN {numbers(shelves)}", "user_id, link, is_bot, shelf"
        before = self._clicks(some)  # or clicks that come meanwhile might seem to be among all values
        parts = {0: counted(some, links=links, keys=keys)}
        for name, value in VALUES.items():
            parts[DIMENSIONS[name].number] = counted(some, value, NOON_OF, links, keys)
        for dimension, part in parts.items():
            self._server.work(
                f"INSERT INTO day ({', '.join(DAY_COLUMNS)}) SELECT user_id, link, {dimension:d}, is_bot,"
                f" value, quarter, shelf, pageviews, visitors FROM ({part})"
            )
        rows = ", ".join(f"({owner:d}, {shelf:d}, {own:d})" for owner, shelf, own, _ in before)
        self._server.work(f"INSERT INTO rolled VALUES {rows}")
        changed = {row[1] for row in {*before} ^ {*self._clicks(some)}}
        for shelf in changed:  # once more, after a rest
            self.errors.fail(shelf, "clicks came while their day was rolled up")
        return not changed

    def _clicks(self, some: str) -> list[tuple[int, ...]]:
        """Each owner with their clicks on each shelf: those of its own day, and all."""
        return self._server.query(
            f"SELECT user_id, shelf, countIf({DAY_OF} = shelf), count() FROM click WHERE {some}"
            " GROUP BY user_id, shelf"
        )


def is_alone(connection: Connection) -> bool:
    """Whether no other machine is in a step. (With SQLite there is no other.)"""
    if connection.dialect.name != "postgresql":
        return True
    lock = "SELECT pg_try_advisory_xact_lock(%s)"
    return bool(connection.exec_driver_sql(lock, (ONE_AT_A_TIME,)).scalar())
