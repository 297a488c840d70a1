"""Rolls up past days, and prunes their rows, in short steps however many clicks a day has.

The ingest waits while a step runs, so a step handles a few thousand rows at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from sqlalchemy import ColumnElement, Engine, Table, Update, delete, select, tuple_, update
from sqlalchemy.engine import Connection

from app.analytics import bulk, day_lists, interning_state, rollup_models
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import DAY_MS
from app.analytics.raw_queries import CLICKS
from app.analytics.rollup_models import EMPTIED, LinkValue, OwnerDay, OwnerValue
from app.analytics.rollups import write_alone
from app.analytics.tally import InOrder, PrunedRowsTally, Tally

OWNER_VALUES = cast("Table", OwnerValue.__table__)
LINK_VALUES = cast("Table", LinkValue.__table__)
TALLIED = 2000  # rows counted in a step
WRITTEN = 5000  # values written, or removed, in a step
PRUNED = 300  # rows removed in a step: most add a dozen values of a link, each at another place on disk
LINKS = 200
NUMBERS = [each.number for each in DIMENSIONS.values()]

T = TypeVar("T")


class DayState(NamedTuple):
    """How a day is stored. If it equals an earlier state, the day has not changed since."""

    visits: int
    rolled: int | None
    is_pruned: bool


def roll_up(engine: Engine, workspace_id: int, day: int) -> Generator[None, None, None]:
    """Rolls up a day, for all the owner's links together and for each link with many clicks.

    What is written on the way is not read before the day's row says how many rows it stands for.
    """
    before = state_of(engine, workspace_id, day)
    if before is None:
        return
    with InOrder() as visits:
        yield from visits.fill(engine, workspace_id, day)
        tally = Tally(large_links(visits.visited))
        for rows in visits.chunks(TALLIED):
            tally.add(rows)
            yield
    values = [(OWNER_VALUES, tally.owner_rows(workspace_id, day)), (LINK_VALUES, tally.link_rows(day))]
    for table, some in ((table, some) for table, all_ in values for some in split_sequence(all_, WRITTEN)):
        with engine.begin() as connection:
            if not is_still(connection, workspace_id, day, before):
                return
            bulk.insert_or_replace(connection, table, some)
        yield
    with engine.begin() as connection:
        if is_still(connection, workspace_id, day, before):
            day_lists.store_list(connection, workspace_id, day, visits.visited)
            connection.execute(day_of(workspace_id, day).values(rolled=before.visits))


def prune_day(engine: Engine, workspace_id: int, day: int) -> Generator[None, None, None]:
    """Removes a day's rows in batches, and adds them to its roll-ups, also those of each link.

    Both happen in the same transaction, so a click is always in exactly one of the two, and so is a visitor
    with each value. The earlier roll-ups are removed first. Rows that come later are added in the same way.
    """
    before = state_of(engine, workspace_id, day)
    if before is None:
        return
    with InOrder() as visits:
        yield from visits.fill(engine, workspace_id, day)
        links = sorted({link_id for _, link_id in visits.visited})
        if not is_counted(engine, workspace_id, day, before, visits.visited.total()):
            return
        if not before.is_pruned and not (yield from remove_rollups(engine, workspace_id, day, links)):
            return
        tally, is_first = PrunedRowsTally(), True
        for rows in visits.chunks(PRUNED):
            yield from tally.look_ahead(visits, rows)
            tally.add(rows)
            with engine.begin() as connection:
                write_alone(connection)
                is_begun = before.is_pruned or not is_first
                if not remove_rows(connection, workspace_id, day, rows, is_begun=is_begun):
                    connection.rollback()  # another process prunes that day
                    return
                bulk.insert_or_add(connection, OWNER_VALUES, tally.owner_rows(workspace_id, day))
                bulk.insert_or_add(connection, LINK_VALUES, tally.link_rows(day))
                if is_first:
                    note_list(connection, workspace_id, day, visits.visited, is_late=before.is_pruned)
            is_first = False
            yield


def is_counted(engine: Engine, workspace_id: int, day: int, before: DayState, rows: int) -> bool:
    """Whether all rows of the day were found; a day that has fewer than stored is corrected.

    Without that it would wait forever for rows that do not exist. False if rows came or went meanwhile.
    """
    if rows >= before.visits:
        return True
    with engine.begin() as connection:
        is_same = is_still(connection, workspace_id, day, before)
        if is_same:
            connection.execute(day_of(workspace_id, day).values(visits=rows))
    return is_same


def remove_rows(
    connection: Connection, workspace_id: int, day: int, rows: Sequence[Any], *, is_begun: bool
) -> bool:
    """Removes rows; returns whether all of them still existed, in a day of the expected state."""
    expected = OwnerDay.is_pruned if is_begun else OwnerDay.rolled == EMPTIED
    said = day_of(workspace_id, day).where(expected, OwnerDay.is_pruned.is_(is_begun))
    if (
        connection.execute(said.values(visits=OwnerDay.visits - len(rows), rolled=0, is_pruned=True)).rowcount
        != 1
    ):
        return False
    interning_state.count_removal(connection, interning_state.REMOVED_ROWS)
    ids = [row[1] for row in rows]
    # the day lets PostgreSQL look into one partition alone
    of_day = CLICKS.c.time_ms >= day * DAY_MS, CLICKS.c.time_ms < (day + 1) * DAY_MS
    return connection.execute(delete(CLICKS).where(CLICKS.c.id.in_(ids), *of_day)).rowcount == len(ids)


def note_list(
    connection: Connection, workspace_id: int, day: int, visited: day_lists.Visited, *, is_late: bool
) -> None:
    if not is_late:
        day_lists.store_list(connection, workspace_id, day, visited)
    elif visited:
        day_lists.raise_bounds(connection, workspace_id, day, max(visited.values()))


def remove_rollups(
    engine: Engine, workspace_id: int, day: int, links: Sequence[int]
) -> Generator[None, None, bool]:
    """Removes the roll-ups of a day that still has all its rows; False if another process changed the day."""
    with engine.begin() as connection:
        write_alone(connection)
        marked = day_of(workspace_id, day).where(OwnerDay.is_pruned.is_(False))
        if connection.execute(marked.values(rolled=EMPTIED)).rowcount != 1:
            return False
    yield
    values = [(OWNER_VALUES, OWNER_VALUES.c.workspace_id == workspace_id)]
    values += [(LINK_VALUES, LINK_VALUES.c.link_id.in_(some)) for some in split_sequence(links, LINKS)]
    for table, whose in values:
        key = table.c.dimension.in_(NUMBERS), table.c.is_bot.in_((False, True)), table.c.day == day
        is_left = True
        while is_left:
            with engine.begin() as connection:
                write_alone(connection)
                now = state_in(connection, workspace_id, day)
                if now is None or now.is_pruned or now.rolled != EMPTIED:
                    return False
                is_left = remove_values(connection, table, whose, *key) == WRITTEN
            yield
    return True


def remove_values(connection: Connection, table: Table, *which: ColumnElement[bool]) -> int:
    some = select(*table.primary_key).where(*which).limit(WRITTEN)
    return connection.execute(delete(table).where(tuple_(*table.primary_key).in_(some))).rowcount


def split_sequence(all_: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (all_[start : start + size] for start in range(0, len(all_), size))


def large_links(visited: day_lists.Visited) -> set[int]:
    totals: Counter[int] = Counter()
    for (_, link_id), count in visited.items():
        totals[link_id] += count
    return {link_id for link_id, count in totals.items() if count >= rollup_models.MANY}


def is_still(connection: Connection, workspace_id: int, day: int, before: DayState) -> bool:
    write_alone(connection)
    return state_in(connection, workspace_id, day) == before


def state_of(engine: Engine, workspace_id: int, day: int) -> DayState | None:
    with engine.connect().execution_options(reads=True) as connection:
        return state_in(connection, workspace_id, day)


def state_in(connection: Connection, workspace_id: int, day: int) -> DayState | None:
    """The state of a day; None if the owner was deleted."""
    wanted = select(OwnerDay.visits, OwnerDay.rolled, OwnerDay.is_pruned)
    row = connection.execute(wanted.where(OwnerDay.workspace_id == workspace_id, OwnerDay.day == day)).first()
    return DayState(*row) if row else None


def day_of(workspace_id: int, day: int) -> Update:
    return update(OwnerDay).where(OwnerDay.workspace_id == workspace_id, OwnerDay.day == day)
