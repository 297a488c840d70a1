"""What becomes of visits as they grow old?

Once a UTC day is over, what its visits had in common is rolled up by the values of every dimension; once it
is older than CLICK_RETENTION_DAYS, rows of single visits go, and the roll-ups stay for ever. All of it in
steps that are short, for counters wait meanwhile.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, Engine, Table, Update, delete, func, select, tuple_, update
from sqlalchemy.engine import Connection

from app.clicks import backfill, bulk, day_lists, raw
from app.clicks.dimensions import DIMENSIONS
from app.clicks.engine import open_engine
from app.clicks.models import Click
from app.clicks.periods import DAY_MS, QUARTERS, day_number
from app.clicks.rollup_models import LinkValue, OwnerDay, OwnerValue, Seen
from app.clicks.rollups import write_alone
from app.clicks.scope import Scope
from app.config import Settings

CLICKS = cast("Table", Click.__table__)
OWNER_VALUES = cast("Table", OwnerValue.__table__)
LINK_VALUES = cast("Table", LinkValue.__table__)
SEEN = cast("Table", Seen.__table__)
MANY = 200  # visits on a day; fewer are counted as quickly as roll-ups of them are read
SEEN_AT_ONCE = 20_000
REST_SECONDS = 10.0
LATE = dt.timedelta(hours=1)  # what comes after that is rolled up again

ENDED = object()
Rows = list[tuple[Any, ...]]


class Upkeep:
    """For the worker's own thread, between the visits of the moment."""

    def __init__(self, settings: Settings) -> None:
        self._engine = open_engine(settings)
        self._retention = settings.click_retention_days
        self._under_way: Iterator[None] | None = None
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
        work, self._under_way = self._under_way, None  # what fails is begun anew
        if next(work, ENDED) is not ENDED:
            self._under_way = work
        return True

    def close(self) -> None:
        self._engine.dispose()

    def _next(self, now: dt.datetime) -> Iterator[None] | None:
        oldest = day_number(now.date()) - self._retention  # the first day whose rows are kept
        with reading(self._engine) as connection:
            done, end = backfill.state(connection)
            if done < end:
                return None
            old = select(OwnerDay).where(OwnerDay.day < oldest, OwnerDay.visits > 0)
            found = connection.execute(old.order_by(OwnerDay.day).limit(1)).first()
            if found:
                return prune(self._engine, found.user_id, found.day)
            if connection.scalar(select(Seen.day).where(Seen.day < oldest).limit(1)) is not None:
                return forget_seen(self._engine, oldest)
            over = OwnerDay.day < day_number((now - LATE).date())
            late = OwnerDay.rolled.is_(None) | (OwnerDay.rolled != OwnerDay.visits)
            unrolled = select(OwnerDay).where(
                over, late, OwnerDay.visits >= MANY, OwnerDay.is_pruned.is_(False)
            )
            found = connection.execute(unrolled.order_by(OwnerDay.day.desc()).limit(1)).first()
            return roll(self._engine, found.user_id, found.day) if found else None


def reading(engine: Engine) -> Connection:
    return engine.connect().execution_options(reads=True)


def roll(engine: Engine, user_id: int, day: int) -> Iterator[None]:
    """Roll a day up, of all the owner's links together and of those with many visits."""
    with reading(engine) as connection:
        before = state_of(connection, user_id, day)
        visited = visits_of(connection, user_id, day)
    large = large_links(visited)
    owners, links = yield from values_of(engine, user_id, day, large)
    with engine.begin() as connection:
        write_alone(connection)
        if state_of(connection, user_id, day) == before:
            bulk.replace(connection, OWNER_VALUES, owners)
            bulk.replace(connection, LINK_VALUES, links)
            day_lists.keep(connection, user_id, day, visited)
            connection.execute(state_in(user_id, day).values(rolled=before[0]))


def prune(engine: Engine, user_id: int, day: int) -> Iterator[None]:
    """Roll a day up, of each link too, and remove the rows, in one transaction: a visit is always in one of
    the two. Where rows came after that had been done before, they are added."""
    with reading(engine) as connection:
        before = state_of(connection, user_id, day)
        visited = visits_of(connection, user_id, day)
    owners, links = yield from values_of(engine, user_id, day, None)
    with engine.begin() as connection:
        write_alone(connection)
        if state_of(connection, user_id, day) == before:
            write = bulk.add if before[1] else bulk.replace
            write(connection, OWNER_VALUES, owners)
            write(connection, LINK_VALUES, links)
            if before[1]:
                day_lists.add(connection, user_id, day, before[0])
            else:
                day_lists.keep(connection, user_id, day, visited)
            connection.execute(delete(CLICKS).where(*rows_of(user_id, day)))
            connection.execute(state_in(user_id, day).values(visits=0, rolled=0, is_pruned=True))


def values_of(
    engine: Engine, user_id: int, day: int, large: tuple[int, ...] | None
) -> Generator[None, None, tuple[Rows, Rows]]:
    """Rows of a day's roll-ups: of its owner, and of the `large` links (None: of all), a dimension a step."""
    owners: Rows = []
    links: Rows = []
    whole = day * QUARTERS, (day + 1) * QUARTERS
    mine, theirs = Scope(user_id, None, None), Scope(user_id, large, None)
    for name, dimension in DIMENSIONS.items():
        with reading(engine) as connection:
            for is_bot, *value, pageviews, visitors in connection.execute(
                raw.values(connection, mine, name, *whole)
            ):
                key = dimension.number, is_bot, day
                owners.append((user_id, *key, *two(value), int(pageviews), int(visitors)))
        yield
        if large == ():
            continue
        with reading(engine) as connection:
            for link_id, is_bot, *value, pageviews, visitors in connection.execute(
                raw.values(connection, theirs, name, *whole, each_link=True)
            ):
                key = dimension.number, is_bot, day
                links.append((link_id, *key, *two(value), int(pageviews), int(visitors)))
        yield
    return owners, links


def visits_of(connection: Connection, user_id: int, day: int) -> day_lists.Visited:
    """How many rows each link has, of people and of bots."""
    each = CLICKS.c.is_bot, CLICKS.c.link_id
    found = select(*each, func.count()).where(*rows_of(user_id, day)).group_by(*each)
    return Counter({(is_bot, link_id): count for is_bot, link_id, count in connection.execute(found)})


def large_links(visited: day_lists.Visited) -> tuple[int, ...]:
    totals: Counter[int] = Counter()
    for (_, link_id), count in visited.items():
        totals[link_id] += count
    return tuple(link_id for link_id, count in totals.items() if count >= MANY)


def two(numbers: Sequence[int]) -> tuple[int, int]:
    """The numbers of a value's texts, 0 where there is but one."""
    return numbers[0], numbers[1] if len(numbers) > 1 else 0


def forget_seen(engine: Engine, oldest: int) -> Iterator[None]:
    """Who came on days whose visits are no longer told apart."""
    key = tuple_(SEEN.c.day, SEEN.c.visitor, SEEN.c.scope)
    some = select(SEEN.c.day, SEEN.c.visitor, SEEN.c.scope).where(SEEN.c.day < oldest).limit(SEEN_AT_ONCE)
    is_left = True
    while is_left:
        with engine.begin() as connection:
            is_left = connection.execute(delete(SEEN).where(key.in_(some))).rowcount > 0
        yield


def rows_of(user_id: int, day: int) -> tuple[ColumnElement[bool], ...]:
    begin = day * DAY_MS
    return CLICKS.c.user_id == user_id, CLICKS.c.time_ms >= begin, CLICKS.c.time_ms < begin + DAY_MS


def state_of(connection: Connection, user_id: int, day: int) -> tuple[int, bool]:
    """How many rows the day has, and whether some were removed; the same as before: none came since."""
    wanted = select(OwnerDay.visits, OwnerDay.is_pruned)
    row = connection.execute(wanted.where(OwnerDay.user_id == user_id, OwnerDay.day == day)).one()
    return row.visits, row.is_pruned


def state_in(user_id: int, day: int) -> Update:
    return update(OwnerDay).where(OwnerDay.user_id == user_id, OwnerDay.day == day)
