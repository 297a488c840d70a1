"""What becomes of visits as they grow old?

Once a UTC day is over, what its visits had in common is rolled up by the values of every dimension; once it
is older than CLICK_RETENTION_DAYS, rows of single visits go, and the roll-ups stay for ever. Texts that no
row uses any more go after that. All of it in steps that are short, for counters wait meanwhile.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Generator
from typing import Any, NamedTuple, cast

from sqlalchemy import Engine, Select, Table, delete, func, literal_column, select, tuple_
from sqlalchemy.engine import Connection

from app.clicks import ageing, backfill, rollup_models, term_removal, term_state
from app.clicks.engine import open_engine
from app.clicks.periods import day_number
from app.clicks.rollup_models import EMPTIED, OwnerDay, Seen
from app.config import Settings
from app.error_boundary import ErrorBoundary

SEEN = cast("Table", Seen.__table__)
SEEN_AT_ONCE = 5000
REST_SECONDS = 10.0
LATE = dt.timedelta(hours=1)  # what comes after that is rolled up again

ENDED = object()
FORGET = "forget who came"
REMOVE_TEXTS = "remove texts that no row uses"
Steps = Generator[None, None, None]
DayItem = tuple[str, int, int]  # what is done with which day of which owner


class Work(NamedTuple):
    """Something under way, and its name among the items of the loop."""

    item: DayItem | str
    steps: Steps


class Upkeep:
    """For the worker's own thread, between the visits of the moment."""

    def __init__(self, settings: Settings) -> None:
        self._engine = open_engine(settings)
        self._retention = settings.click_retention_days
        self._under_way: Work | None = None
        self._rests_until = 0.0
        self._removed_rows: int | None = None  # when it was looked at last
        self.errors = ErrorBoundary("upkeep")

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
        with self.errors.attempt(work.item):
            if next(work.steps, ENDED) is not ENDED:
                self._under_way = work
        return True

    def close(self) -> None:
        if self._under_way is not None:
            self._under_way.steps.close()
        self._engine.dispose()

    def _next(self, now: dt.datetime) -> Work | None:
        oldest = day_number(now.date()) - self._retention  # the first day whose rows are kept
        with reading(self._engine) as connection:
            done, end = backfill.state(connection)
            if done < end:
                return None
            most = 1 + len(self.errors.backed_off(tuple))
            if found := self._first("prune", connection, with_rows_before(oldest, most)):
                return Work(found, ageing.prune(self._engine, *found[1:]))
            is_seen = connection.scalar(select(Seen.day).where(Seen.day < oldest).limit(1)) is not None
            if is_seen and not self.errors.is_backed_off(FORGET):
                return Work(FORGET, forget_seen(self._engine, oldest))
            today = day_number((now - LATE).date())
            found = self._first("roll", connection, unrolled_before(today, most))
            if found:
                return Work(found, ageing.roll(self._engine, *found[1:]))
            return self._text_removal(connection)

    def _text_removal(self, connection: Connection) -> Work | None:
        """The removal of unused texts, if it is due. It begins once no rows have gone since the last rest:
        it would have to begin anew with each that goes."""
        before, self._removed_rows = self._removed_rows, term_state.due_count(connection)
        is_quiet = self._removed_rows is not None and self._removed_rows == before
        if not is_quiet or self.errors.is_backed_off(REMOVE_TEXTS):
            return None
        return Work(REMOVE_TEXTS, term_removal.remove_unused(self._engine))

    def _first(self, what: str, connection: Connection, query: Select[Any]) -> DayItem | None:
        """The first of an owner's days that did not fail just now."""
        for row in connection.execute(query):
            item = (what, row.user_id, row.day)
            if not self.errors.is_backed_off(item):
                return item
        return None


# numbers stand in these as they do in the indexes, which would not be used else


def with_rows_before(day: int, most: int = 1) -> Select[Any]:
    """The oldest of the days that have rows."""
    wanted = OwnerDay.day < day, OwnerDay.visits > literal_column("0")
    return select(OwnerDay).where(*wanted).order_by(OwnerDay.day).limit(most)


def unrolled_before(day: int, most: int = 1) -> Select[Any]:
    """The last of the days of many visits whose roll-ups are not there, or not of all of them."""
    due = (
        OwnerDay.rolled.is_distinct_from(OwnerDay.visits),
        OwnerDay.visits >= literal_column(str(rollup_models.MANY)),
    )
    others = OwnerDay.is_pruned | (func.coalesce(OwnerDay.rolled, 0) == EMPTIED)
    wanted = select(OwnerDay).where(OwnerDay.day < day, *due, ~others)
    return wanted.order_by(OwnerDay.day.desc()).limit(most)


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
