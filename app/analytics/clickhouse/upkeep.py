"""Upkeep of clicks in ClickHouse: rolls up past days, and removes single clicks after CLICK_RETENTION_DAYS.

A shelf is rolled up as a whole into a draft, which then takes the place of the earlier roll-up in one
statement. Whether a roll-up is used is decided by what it holds: as many clicks as the sums say that there
are.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable

from sqlalchemy import Engine

from app.analytics.clickhouse import rolling
from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.conditions import numbers
from app.analytics.clickhouse.counting import Counting
from app.analytics.clickhouse.intents import list_intents
from app.analytics.engine import open_engine
from app.analytics.periods import QUARTERS, day_number
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary

REST_SECONDS = 10.0
LATE = dt.timedelta(hours=1)  # clicks that come later than that cause another roll-up
READ_SECONDS = 60  # a page that has read which shelves are removed has read the rest by then
ALONE = 0x57_41_5B  # the number of the lock in PostgreSQL: only one machine drafts at a time


class ClickHouseUpkeep:
    """Runs the upkeep in steps, called from the worker's loop: a shelf in each."""

    def __init__(self, settings: Settings) -> None:
        self._server = clickhouse_of(settings.clickhouse_url or "")
        self.engine: Engine = open_engine(settings)
        self._retention = settings.click_retention_days
        self._rests_until = 0.0
        self.errors = ErrorBoundary("upkeep of ClickHouse")

    def step(self, now: dt.datetime) -> bool:
        """Does a part of what is due; returns whether there was any."""
        if time.monotonic() < self._rests_until:
            return False
        has_moved = False
        with self.errors.attempt(), self.engine.connect() as connection:
            is_sql_server = connection.dialect.name == "postgresql"
            if (
                is_sql_server
                and not connection.exec_driver_sql("SELECT pg_try_advisory_xact_lock(%s)", (ALONE,)).scalar()
            ):
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
        removed = Counting(self._server).pruned
        there = rolling.list_shelves(self._server)
        steps: list[tuple[list[int], Callable[..., None]]] = [
            ([shelf for shelf in there if shelf < oldest and shelf not in removed], self._prune),
            (sorted(set(there) & set(self._read_no_more())), self._drop),
            (self._unrolled(oldest, day_number((now - LATE).date()), removed), self._roll),
        ]
        for shelves, work in steps:
            if shelves:
                work(shelves[0])
                return True
        return False

    def _unrolled(self, oldest: int, today: int, removed: list[int]) -> list[int]:
        """Past shelves whose roll-ups do not hold what there is, the latest first."""
        days = f"BETWEEN {max(oldest, 0):d} AND {today - 1:d}"
        found = self._server.query(
            f"SELECT day FROM (SELECT intDiv(quarter, {QUARTERS}) AS day, sum(pageviews) AS there FROM"
            f" owner_quarter"
            f" WHERE day {days} GROUP BY day) AS counted LEFT JOIN (SELECT shelf, sum(latest) AS held FROM"
            f" (SELECT shelf, argMax(pageviews, moment) AS latest FROM rolled WHERE shelf {days}"
            f" GROUP BY user_id, shelf) GROUP BY shelf) AS summed"
            f" ON summed.shelf = counted.day WHERE there != held AND day NOT IN {numbers(removed)}"
            f" AND day IN (SELECT DISTINCT shelf FROM click WHERE shelf {days}) ORDER BY day DESC"
        )
        return [row[0] for row in found if not self.errors.is_backed_off(row[0])]

    def _read_no_more(self) -> list[int]:
        """Removed shelves that no page reads any more."""
        found = self._server.query(f"SELECT shelf FROM pruned WHERE moment <= now() - {READ_SECONDS:d}")
        return [row[0] for row in found]

    def _roll(self, shelf: int) -> None:
        rolling.roll_up(self._server, shelf, with_links=False)
        if not rolling.is_whole(self._server, shelf):  # a click came meanwhile: after a rest once more
            self.errors.fail(shelf, "clicks came while their day was rolled up")

    def _prune(self, shelf: int) -> None:
        """From the moment on that the shelf is among the removed ones, its roll-ups stand for it."""
        rolling.roll_up(self._server, shelf, with_links=True)
        if not rolling.is_whole(self._server, shelf):
            self.errors.fail(shelf, "clicks came while their day was removed")
            return
        self._server.insert(
            "pruned",
            {"shelf": "UInt16", "moment": "DateTime"},
            [(shelf, dt.datetime.now(dt.UTC))],
            f"pruned:{shelf}",
        )

    def _drop(self, shelf: int) -> None:
        self._server.work(f"ALTER TABLE click DROP PARTITION {shelf:d}")
