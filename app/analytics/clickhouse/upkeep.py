"""Upkeep of clicks in ClickHouse: rolls up past days, and removes single clicks after CLICK_RETENTION_DAYS.

Whole shelves are rolled up (see `rolling`). Whether a roll-up is used is decided by what it holds: as many
clicks as the sums say that there are. Before all that, the tables of an earlier version are upgraded.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable

from sqlalchemy import Engine
from sqlalchemy.engine import Connection

from app.analytics.clickhouse import rolling, upgrade
from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.conditions import numbers
from app.analytics.clickhouse.intents import list_intents
from app.analytics.clickhouse.schema import ALONE, DONE, SHELF, SHELVES
from app.analytics.clickhouse.shelves import LATEST, removed_shelves
from app.analytics.engine import open_engine
from app.analytics.periods import QUARTERS, day_number
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary

REST_SECONDS = 10.0
LATE = dt.timedelta(hours=1)  # clicks that come later than that cause another roll-up
READ_SECONDS = 60  # a page that has read which shelves are removed has read the rest by then
ONE_AT_A_TIME = 0x57_41_5B  # the number of the lock in PostgreSQL: only one machine rolls up at a time
BATCH_CLICKS = 250_000  # that are rolled up in a step: days with few clicks go together, statements cost more
MOST_STALE = 30  # roll-ups that nobody reads any more: to remove them, others' rows are written anew


class ClickHouseUpkeep:
    """Runs the upkeep in steps, called from the worker's loop: a shelf, or a few small ones, in each."""

    def __init__(self, settings: Settings) -> None:
        self._server = clickhouse_of(settings.clickhouse_url or "")
        self.engine: Engine = open_engine(settings)
        self._retention = settings.click_retention_days
        self._rests_until = 0.0
        self._is_upgraded = False
        self._rolled: dict[int, int] = {}  # the clicks of each day when its shelf was rolled up
        self.errors = ErrorBoundary("upkeep of ClickHouse")

    def step(self, now: dt.datetime) -> bool:
        """Does a part of what is due; returns whether there was any."""
        if time.monotonic() < self._rests_until:
            return False
        has_moved = False
        with self.errors.attempt(), self.engine.connect() as connection:
            if not is_alone(connection):
                return False
            oldest = min([day_number(now.date()), *(each.day for each in list_intents(connection))])
            has_moved = self._step(now, oldest - self._retention)
        if not has_moved:
            self._rests_until = time.monotonic() + REST_SECONDS
        return has_moved

    def close(self) -> None:
        self.engine.dispose()

    def _step(self, now: dt.datetime, oldest: int) -> bool:
        """`oldest`: the first shelf that is kept."""
        if not self._is_upgraded:
            self._is_upgraded = not upgrade.step(self._server)
            return True
        removed = removed_shelves(self._server)
        there = [shelf for shelf in rolling.list_shelves(self._server) if shelf not in removed]
        if some := self._unbacked(shelf for shelf in there if shelf < oldest):
            self._prune(some[:1])
        elif some := self._read_no_more():
            self._server.work(f"ALTER TABLE click DROP PARTITION {some[0]:d}")
        elif days := self._unrolled(oldest, day_number((now - LATE).date()), there):
            self._roll(days)
        elif len(stale := rolling.list_stale(self._server, LATEST, READ_SECONDS)) >= MOST_STALE:
            rolling.remove(self._server, stale)
        else:
            return False
        return True

    def _unrolled(self, oldest: int, today: int, there: list[int]) -> dict[int, int]:
        """Past days whose roll-ups do not hold what there is, with their clicks: the latest, as many as are a
        step."""
        first, last = max(oldest, 0), today - 1
        found = self._server.query(
            f"SELECT day, there FROM (SELECT intDiv(quarter, {QUARTERS}) AS day, sum(pageviews) AS there FROM"
            f" owner_quarter WHERE day BETWEEN {first:d} AND {last:d} GROUP BY day) AS counted"
            f" LEFT JOIN (SELECT {SHELF} AS shelf, sum(pageviews) AS held FROM rolled_clicks"
            f" WHERE number IN ({LATEST}) GROUP BY shelf) AS summed ON summed.shelf = counted.day"
            f" WHERE there != held AND day IN {numbers(there)} ORDER BY day DESC"
        )
        # where that is not what its own shelf has: some of the day's clicks are late, on another shelf
        due = {day: clicks for day, clicks in found if self._rolled.get(day) != clicks}
        some: dict[int, int] = {}
        for day in self._unbacked(due):
            if some and sum(some.values()) + due[day] > BATCH_CLICKS:
                break
            some[day] = due[day]
        return some

    def _unbacked(self, shelves: Iterable[int]) -> list[int]:
        return [shelf for shelf in shelves if not self.errors.is_backed_off(shelf)]

    def _read_no_more(self) -> list[int]:
        """Removed shelves that no page reads any more, and that are still there."""
        long_ago = f"moment <= now64(3) - INTERVAL {READ_SECONDS:d} SECOND"
        found = self._server.query(f"SELECT shelf FROM roll_up WHERE state = {ALONE} AND {long_ago}")
        return sorted(set(rolling.list_shelves(self._server)) & {row[0] for row in found})

    def _roll(self, days: dict[int, int]) -> None:
        made = rolling.roll_up(self._server, [*days], with_links=False)
        rolling.note_states(self._server, made, DONE)
        partial = rolling.find_partial(self._server, made)
        for day in partial:  # after a rest once more
            self.errors.fail(day, "clicks came while their day was rolled up")
        self._rolled |= {day: clicks for day, clicks in days.items() if day not in partial}

    def _prune(self, shelves: list[int]) -> None:
        """From the moment on that the shelf is among the removed ones, its roll-up stands for it."""
        made = rolling.roll_up(self._server, shelves, with_links=True)
        partial = rolling.find_partial(self._server, made)
        for shelf in partial:
            self.errors.fail(shelf, "clicks came while their day was removed")
        if whole := [number for number in made if number % SHELVES not in partial]:
            rolling.note_states(self._server, whole, ALONE)


def is_alone(connection: Connection) -> bool:
    """Whether no other machine is in a step. (With SQLite there is no other.)"""
    if connection.dialect.name != "postgresql":
        return True
    lock = "SELECT pg_try_advisory_xact_lock(%s)"
    return bool(connection.exec_driver_sql(lock, (ONE_AT_A_TIME,)).scalar())
