"""Monthly partitions of the rows of single clicks, on PostgreSQL: SQLite keeps one table.

A month's partition is made ahead by the upkeep, or by the ingest of the month's first click. Times that no
clock should say go to the default partition, so no click is refused for want of a partition. A month beyond
retention is dropped once its last row is pruned: all of its disk space is free at once, without a vacuum.
"""

# see docs/decisions/2026-11-25-clicks-by-month.md
from __future__ import annotations

import datetime as dt
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import Engine
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from app.analytics.periods import DAY_MS, EPOCH, ONE_DAY, day_number
from app.core.clock import now

PARENT, DEFAULT = "clicks.click", "clicks.click_default"
LOCK = 0x57_41_5B  # the lock's number in PostgreSQL: one transaction at a time makes partitions
FIRST_MONTH = dt.date(2000, 1, 1)
MONTHS_AHEAD = 2  # made by the upkeep, after the current month
MAX_DAYS_AHEAD = 366  # a click that is later than that has the time of a wrong clock
LOCK_MS = 200  # statistics and the ingest wait behind one that waits for the lock
DROP_CHECK_MS = 1000
IN_THE_WAY = frozenset({"55P03", "57014"})  # a lock or an answer took too long
BOUND = re.compile(r"FOR VALUES FROM \((.+?)\) TO \((.+?)\)")
FIND = """
    SELECT child.relname, pg_get_expr(child.relpartbound, child.oid)
    FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
    WHERE inhparent = 'clicks.click'::regclass AND child.relname <> 'click_default'
"""


class Partition(NamedTuple):
    """A partition and its half-open range of times."""

    name: str
    first_ms: int
    last_ms: int


def list_partitions(connection: Connection) -> list[Partition]:
    """All partitions but the default one, in the order of time."""
    found = [(name, BOUND.fullmatch(bound)) for name, bound in connection.exec_driver_sql(FIND)]
    ranged = [Partition(name, read_bound(match[1]), read_bound(match[2])) for name, match in found if match]
    return sorted(ranged, key=lambda each: each.first_ms)


def read_bound(text: str) -> int:
    return 0 if text == "MINVALUE" else int(text.strip("'"))


def cover_times(connection: Connection, times: Sequence[int]) -> None:
    """Makes the months of these times that have no partition, in the transaction that inserts their rows.

    A long read (a dump, say) may hold the default partition. Then rows go there, and wait for nothing: they
    move once a later click has its month made.
    """
    if not times:
        return
    known = list_partitions(connection)
    if not any(each.first_ms <= min(times) and max(times) < each.last_ms for each in known):
        days = {time // DAY_MS for time in times}
        months = {month_of(EPOCH + day * ONE_DAY) for day in days if is_plausible(day)}
        with suppress_in_the_way(), connection.begin_nested():
            before = connection.exec_driver_sql("SHOW lock_timeout").scalar()
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {LOCK_MS}")
            make_months(connection, months)
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{before}'")


@contextmanager
def suppress_in_the_way() -> Iterator[None]:
    """Ends the block without an error where others hold a lock too long."""
    try:
        yield
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) not in IN_THE_WAY:
            raise


def is_plausible(day: int) -> bool:
    """Whether a click can be of this day, so that a partition is made for its month."""
    return day_number(FIRST_MONTH) <= day <= day_number(now().date()) + MAX_DAYS_AHEAD


def make_months(connection: Connection, months: Iterable[dt.date]) -> None:
    """Makes partitions for those of the months (their first days) that have none."""
    missing = uncovered(connection, months)
    if not missing:
        return
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
    for month in uncovered(connection, missing):  # another process may have made some meanwhile
        make_month(connection, month)


def uncovered(connection: Connection, months: Iterable[dt.date]) -> list[dt.date]:
    known = list_partitions(connection)
    return [
        month
        for month in sorted(months)
        if not any(each.first_ms <= start_ms(month) < each.last_ms for each in known)
    ]


def make_month(connection: Connection, month: dt.date) -> None:
    """Makes a month's partition, with its rows of the default partition.

    It is made as a table of its own and then attached: CREATE TABLE … PARTITION OF would lock out readers.
    """
    table = f"{PARENT}_{month:%Y_%m}"
    first, last = start_ms(month), start_ms(next_month(month))
    connection.exec_driver_sql(
        f"CREATE TABLE {table} (LIKE {PARENT} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
    )
    connection.exec_driver_sql(
        f"WITH moved AS (DELETE FROM {DEFAULT} WHERE time_ms >= {first} AND time_ms < {last} RETURNING *)"  # noqa: S608
        f" INSERT INTO {table} SELECT * FROM moved"
    )
    connection.exec_driver_sql(
        f"ALTER TABLE {PARENT} ATTACH PARTITION {table} FOR VALUES FROM ({first}) TO ({last})"
    )


def look_after(engine: Engine, today: dt.date, oldest: int) -> Generator[None, None, None]:
    """Makes the next months, and drops those that have no rows and end before the day `oldest`."""
    month, months = month_of(today), []
    for _ in range(1 + MONTHS_AHEAD):
        months.append(month)
        month = next_month(month)
    with engine.begin() as connection:
        make_months(connection, months)
        over = [each for each in list_partitions(connection) if each.last_ms <= oldest * DAY_MS]
    for each in over:
        yield
        drop_emptied(engine, each)


def drop_emptied(engine: Engine, partition: Partition) -> bool:
    """Drops a partition that has no rows; returns whether it had none.

    Reports and the ingest wait meanwhile, so it is looked at first without their having to, and given up if
    they are in the way: the next time will do. The last look is under the lock, so no late click is dropped.
    """
    table = f"clicks.{partition.name}"
    with suppress_in_the_way():
        return look_and_drop(engine, table, is_locked=False) and look_and_drop(engine, table, is_locked=True)
    return False


def look_and_drop(engine: Engine, table: str, *, is_locked: bool) -> bool:
    """Whether a partition is empty. With the lock it is dropped if it is."""
    with engine.begin() as connection:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {LOCK_MS}")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {DROP_CHECK_MS}")
        if is_locked:
            connection.exec_driver_sql(f"LOCK TABLE ONLY {PARENT} IN ACCESS EXCLUSIVE MODE")
        if connection.exec_driver_sql(f"SELECT EXISTS (SELECT FROM {table})").scalar():  # noqa: S608
            return False
        if is_locked:
            connection.exec_driver_sql(f"DROP TABLE {table}")
    return True


def month_of(day: dt.date) -> dt.date:
    return day.replace(day=1)


def next_month(month: dt.date) -> dt.date:
    return month_of(month + 31 * ONE_DAY)


def start_ms(day: dt.date) -> int:
    return day_number(day) * DAY_MS
