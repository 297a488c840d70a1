"""What becomes of visits as they grow old?

Once a UTC day is over, what its visits had in common is rolled up by the values of every dimension; once it
is older than CLICK_RETENTION_DAYS, rows of single visits go, and the roll-ups stay for ever. All of it in
steps that are short, for counters wait meanwhile.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Generator
from typing import Any, cast

from sqlalchemy import Engine, Select, Table, delete, func, literal_column, select, tuple_
from sqlalchemy.engine import Connection

from app.clicks import ageing, backfill, rollup_models
from app.clicks.engine import open_engine
from app.clicks.periods import day_number
from app.clicks.rollup_models import EMPTIED, OwnerDay, Seen
from app.config import Settings

SEEN = cast("Table", Seen.__table__)
SEEN_AT_ONCE = 5000
REST_SECONDS = 10.0
LATE = dt.timedelta(hours=1)  # what comes after that is rolled up again

ENDED = object()
Steps = Generator[None, None, None]


class Upkeep:
    """For the worker's own thread, between the visits of the moment."""

    def __init__(self, settings: Settings) -> None:
        self._engine = open_engine(settings)
        self._retention = settings.click_retention_days
        self._under_way: Steps | None = None
        self._rests_until = 0.0

    def step(self, now: dt.datetime) -> bool:
        """A little of what is due; whether there was any."""
        if self._under_way is None:
            if time.monotonic() < self._rests_until:
                return False
            self._under_way = self._next(now)
        if self._under_way is None:
            self._rests_until = time.monotonic() + REST_SECONDS
            return False
        work, self._under_way = self._under_way, None  # what fails is begun anew, after a rest
        self._rests_until = time.monotonic() + REST_SECONDS
        if next(work, ENDED) is not ENDED:
            self._under_way = work
        self._rests_until = 0.0
        return True

    def close(self) -> None:
        if self._under_way is not None:
            self._under_way.close()
        self._engine.dispose()

    def _next(self, now: dt.datetime) -> Steps | None:
        oldest = day_number(now.date()) - self._retention  # the first day whose rows are kept
        with reading(self._engine) as connection:
            done, end = backfill.state(connection)
            if done < end:
                return None
            found = connection.execute(with_rows_before(oldest)).first()
            if found:
                return ageing.prune(self._engine, found.user_id, found.day)
            if connection.scalar(select(Seen.day).where(Seen.day < oldest).limit(1)) is not None:
                return forget_seen(self._engine, oldest)
            found = connection.execute(unrolled_before(day_number((now - LATE).date()))).first()
            return ageing.roll(self._engine, found.user_id, found.day) if found else None


# numbers stand in these as they do in the indexes, which would not be used else


def with_rows_before(day: int) -> Select[Any]:
    """The oldest of the days that have rows."""
    wanted = OwnerDay.day < day, OwnerDay.visits > literal_column("0")
    return select(OwnerDay).where(*wanted).order_by(OwnerDay.day).limit(1)


def unrolled_before(day: int) -> Select[Any]:
    """The last of the days of many visits whose roll-ups are not there, or not of all of them."""
    due = (
        OwnerDay.rolled.is_distinct_from(OwnerDay.visits),
        OwnerDay.visits >= literal_column(str(rollup_models.MANY)),
    )
    others = OwnerDay.is_pruned | (func.coalesce(OwnerDay.rolled, 0) == EMPTIED)
    wanted = select(OwnerDay).where(OwnerDay.day < day, *due, ~others)
    return wanted.order_by(OwnerDay.day.desc()).limit(1)


def reading(engine: Engine) -> Connection:
    return engine.connect().execution_options(reads=True)


def forget_seen(engine: Engine, oldest: int) -> Steps:
    """Who came on days whose visits are no longer told apart."""
    key = tuple_(SEEN.c.day, SEEN.c.visitor, SEEN.c.scope)
    some = select(SEEN.c.day, SEEN.c.visitor, SEEN.c.scope).where(SEEN.c.day < oldest).limit(SEEN_AT_ONCE)
    is_left = True
    while is_left:
        with engine.begin() as connection:
            is_left = connection.execute(delete(SEEN).where(key.in_(some))).rowcount > 0
        yield
