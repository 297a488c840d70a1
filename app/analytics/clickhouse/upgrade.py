"""Upgrades the tables that 0.1.0 made in ClickHouse, in steps, and does not begin again after a kill.

There a roll-up was a partition of its shelf in `value` and in `visitor_quarter`, `rolled` said how many
clicks it held, and `pruned` which shelves were removed. Here its number becomes that of its shelf, which is
lower than all that are made later. Until `roll_up` is there, which comes last, nobody reads statistics or
inserts clicks: they wait in the journal. (docs/decisions/2026-11-26-roll-ups-in-clickhouse.md)
"""

from __future__ import annotations

from collections.abc import Collection

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.conditions import numbers
from app.analytics.clickhouse.schema import (
    ALONE,
    DONE,
    FIND_LATE,
    MARK,
    OF_ROLL_UPS,
    VALUES,
    VISITORS,
    is_old,
    make_tables,
    states_table,
    table_names,
)
from app.analytics.clickhouse.shelves import COPIED

STAGED = "roll_up_staged"  # becomes `roll_up`; meanwhile it says which shelves are copied
REMOVED = "pruned_before"  # `pruned`, so that no worker of 0.1.0 removes or inserts anything any more
OLD = ("value", "value_draft", "visitor_quarter", "visitor_quarter_draft", "rolled", "pruned", REMOVED)
BATCH_SHELVES = 16


def step(server: ClickHouse) -> bool:
    """Does a part of the upgrade, or makes what is missing; returns whether there is more to do.

    One machine at a time may be in it.
    """
    names = table_names(server)
    if is_old(names):
        begin(server, names)
        if left := list_left(server):
            copy(server, left[:BATCH_SHELVES])
            return True
        server.work(f"INSERT INTO late_shelf {FIND_LATE}")  # the view has had all since it was made
        server.work(f"RENAME TABLE {STAGED} TO {MARK}")
    else:
        make_tables(server)
    for name in OLD:
        if name in names or name == REMOVED:
            server.work(f"DROP TABLE IF EXISTS {name}")
    return False


def begin(server: ClickHouse, names: Collection[str]) -> None:
    if REMOVED not in names:
        server.work(f"RENAME TABLE pruned TO {REMOVED}")
    for statement in [*OF_ROLL_UPS, states_table(STAGED)]:
        server.work(statement)


def list_left(server: ClickHouse) -> list[int]:
    """The shelves that have roll-ups or are removed, and are not copied."""
    found = server.query(
        "SELECT DISTINCT shelf FROM (SELECT toUInt16(partition) AS shelf FROM system.parts"
        " WHERE database = currentDatabase() AND table IN ('value', 'visitor_quarter') AND active"
        f" AND rows > 0 UNION ALL SELECT shelf FROM {REMOVED})"
        f" WHERE shelf NOT IN (SELECT shelf FROM {STAGED}) ORDER BY shelf"
    )
    return [row[0] for row in found]


def copy(server: ClickHouse, shelves: Collection[int]) -> None:
    some = numbers(shelves)
    for name in ("day_value", "day_visitor", "rolled_clicks"):  # what a step left that was killed
        server.work(f"ALTER TABLE {name} DELETE WHERE number IN {some}", mutations_sync=1)
    for name, before, its in (("day_value", "value", VALUES), ("day_visitor", "visitor_quarter", VISITORS)):
        columns = ", ".join(column for column in its if column != "number")
        server.work(
            f"INSERT INTO {name} (number, {columns}) SELECT shelf, {columns} FROM {before}"
            f" WHERE shelf IN {some}"
        )
    server.work(
        "INSERT INTO rolled_clicks (user_id, number, pageviews, late) SELECT user_id, shelf,"
        f" argMax(pageviews, moment), 0 FROM rolled WHERE shelf IN {some} GROUP BY user_id, shelf"
    )
    is_removed = f"shelf = {COPIED} OR shelf IN (SELECT shelf FROM {REMOVED})"
    server.work(
        f"INSERT INTO {STAGED} (shelf, number, state, moment) SELECT shelf, shelf,"
        f" if({is_removed}, {ALONE}, {DONE}), now64(3) FROM (SELECT toUInt16(arrayJoin([{some[1:-1]}]))"
        " AS shelf)"
    )
