"""Upkeep of old clicks: rolls up past days, then prunes their rows and unused texts.

Once a UTC day is over, its clicks are rolled up by the values of every dimension. Once it is older than
CLICK_RETENTION_DAYS, its rows of single clicks are removed; the roll-ups stay for ever. Interned texts that
no row uses any more are removed after that. Every step is short, because counters wait meanwhile.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Generator
from typing import Any, NamedTuple, Protocol, cast

from sqlalchemy import Engine, Select, Table, delete, func, literal_column, select, tuple_
from sqlalchemy.engine import Connection

from app.analytics import interning_cleanup, interning_state, partitions, rollup, rollup_models
from app.analytics.clickhouse.upkeep import ClickHouseUpkeep
from app.analytics.engine import open_engine
from app.analytics.periods import day_number
from app.analytics.rollup_models import EMPTIED, OwnerDay, Seen
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.events import entries

SEEN = cast("Table", Seen.__table__)
SEEN_BATCH_SIZE = 5000
REST_SECONDS = 10.0
LATE = dt.timedelta(hours=1)  # clicks that come later than that cause another roll-up

ENDED = object()
FORGET = "forget who came"
FORGET_EVENTS = "forget events"
REMOVE_TEXTS = "remove texts that no row uses"
MONTHS = "make and drop months"
MONTHS_SECONDS = 600.0
Steps = Generator[None, None, None]
DayItem = tuple[str, int, int]  # the action, the owner's id, the day


class UpkeepWork(NamedTuple):
    """Work in progress, and its name in the error boundary."""

    item: DayItem | str
    steps: Steps


class Upkeep:
    """Runs the upkeep in short steps, called from the worker's loop."""

    def __init__(self, settings: Settings) -> None:
        self._engine = open_engine(settings)
        self._retention = settings.click_retention_days
        self._under_way: UpkeepWork | None = None
        self._rests_until = 0.0
        self._removed_rows: int | None = None  # the count at the last look
        self._months_due = 0.0  # when partitions are looked after next
        self.errors = ErrorBoundary("upkeep")

    def step(self, now: dt.datetime) -> bool:
        """Does a small part of what is due; returns whether there was any."""
        if self._under_way is None:
            if time.monotonic() < self._rests_until:
                return False
            self._under_way = self._next(now)
        if self._under_way is None:
            self._rests_until = time.monotonic() + REST_SECONDS
            return False
        work, self._under_way = self._under_way, None  # work that fails is started over, after a rest
        with self.errors.attempt(work.item):
            if next(work.steps, ENDED) is not ENDED:
                self._under_way = work
        return True

    def close(self) -> None:
        if self._under_way is not None:
            self._under_way.steps.close()
        self._engine.dispose()

    def _next(self, now: dt.datetime) -> UpkeepWork | None:
        oldest = day_number(now.date()) - self._retention  # the first day whose rows are kept
        with open_reading(self._engine) as connection:
            most = 1 + len(self.errors.backed_off(tuple))
            if entries.is_prunable(connection, oldest) and not self.errors.is_backed_off(FORGET_EVENTS):
                return UpkeepWork(FORGET_EVENTS, forget_events(self._engine, oldest))
            if found := self._first("prune", connection, with_rows_before(oldest, most)):
                return UpkeepWork(found, rollup.prune_day(self._engine, *found[1:]))
            is_seen = connection.scalar(select(Seen.day).where(Seen.day < oldest).limit(1)) is not None
            if is_seen and not self.errors.is_backed_off(FORGET):
                return UpkeepWork(FORGET, forget_seen(self._engine, oldest))
            today = day_number((now - LATE).date())
            found = self._first("roll", connection, unrolled_before(today, most))
            if found:
                return UpkeepWork(found, rollup.roll_up(self._engine, *found[1:]))
            if self._are_months_due():
                self._months_due = time.monotonic() + MONTHS_SECONDS
                return UpkeepWork(MONTHS, partitions.look_after(self._engine, now.date(), oldest))
            return self._text_removal(connection)

    def _are_months_due(self) -> bool:
        is_due = time.monotonic() >= self._months_due and not self.errors.is_backed_off(MONTHS)
        return is_due and self._engine.dialect.name == "postgresql"

    def _text_removal(self, connection: Connection) -> UpkeepWork | None:
        """The removal of unused texts, if it is due.

        It begins only once no rows were removed since the last rest: any removal would make it start over.
        """
        before, self._removed_rows = self._removed_rows, interning_state.due_count(connection)
        is_quiet = self._removed_rows is not None and self._removed_rows == before
        if not is_quiet or self.errors.is_backed_off(REMOVE_TEXTS):
            return None
        return UpkeepWork(REMOVE_TEXTS, interning_cleanup.remove_unused(self._engine))

    def _first(self, what: str, connection: Connection, query: Select[Any]) -> DayItem | None:
        """The first of the days found that is not backed off after a failure."""
        for row in connection.execute(query):
            item = (what, row.workspace_id, row.day)
            if not self.errors.is_backed_off(item):
                return item
        return None


# numbers are literals in these, as in the partial indexes, which would not be used otherwise


def with_rows_before(day: int, most: int = 1) -> Select[Any]:
    """The oldest days before `day` that have rows."""
    wanted = OwnerDay.day < day, OwnerDay.visits > literal_column("0")
    return select(OwnerDay).where(*wanted).order_by(OwnerDay.day).limit(most)


def unrolled_before(day: int, most: int = 1) -> Select[Any]:
    """The latest days before `day` with many clicks whose roll-ups are missing or incomplete."""
    due = (
        OwnerDay.rolled.is_distinct_from(OwnerDay.visits),
        OwnerDay.visits >= literal_column(str(rollup_models.MANY)),
    )
    others = OwnerDay.is_pruned | (func.coalesce(OwnerDay.rolled, 0) == EMPTIED)
    wanted = select(OwnerDay).where(OwnerDay.day < day, *due, ~others)
    return wanted.order_by(OwnerDay.day.desc()).limit(most)


def open_reading(engine: Engine) -> Connection:
    return engine.connect().execution_options(reads=True)


def forget_seen(engine: Engine, oldest: int) -> Steps:
    """Removes the visitors of days whose rows are pruned."""
    key = tuple_(*SEEN.primary_key)
    some = select(*SEEN.primary_key).where(SEEN.c.day < oldest).limit(SEEN_BATCH_SIZE)
    is_left = True
    while is_left:
        with engine.begin() as connection:
            is_left = connection.execute(delete(SEEN).where(key.in_(some))).rowcount > 0
        yield


def forget_events(engine: Engine, oldest: int) -> Steps:
    """Removes the places of the feed that are older than the clicks that are kept."""
    is_left = True
    while is_left:
        with engine.begin() as connection:
            is_left = entries.prune(connection, oldest)
        yield


class AnyUpkeep(Protocol):
    def step(self, now: dt.datetime) -> bool:
        """Does a small part of what is due; returns whether there was any."""

    def close(self) -> None: ...


def open_upkeep(settings: Settings) -> AnyUpkeep:
    return UpkeepOfBoth(settings) if settings.clickhouse_url else Upkeep(settings)


class UpkeepOfBoth:
    """Upkeep of ClickHouse, and of what SQL still has from before."""

    def __init__(self, settings: Settings) -> None:
        self._stores = ClickHouseUpkeep(settings), Upkeep(settings)

    def step(self, now: dt.datetime) -> bool:
        return any([store.step(now) for store in self._stores])  # noqa: C419  each takes its step

    def close(self) -> None:
        for store in self._stores:
            store.close()
