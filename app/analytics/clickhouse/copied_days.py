"""Copies roll-ups of days whose single clicks are removed, to the number `COPIED` of ClickHouse.

They go in blocks of days, and of ids of owners or links. The place of a block is one number, in the order in
which blocks are copied, so that how far the copy is can be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Engine, and_, func, select
from sqlalchemy.engine import Connection

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.counting import CHECKED
from app.analytics.clickhouse.schema import OWNER_QUARTERS, QUARTERS, VALUES, VISITORS
from app.analytics.clickhouse.shelves import COPIED
from app.analytics.interned_texts import texts_of
from app.analytics.periods import QUARTERS as A_DAY
from app.analytics.rollup_models import LinkQuarter, LinkValue, OwnerDay, OwnerQuarter, OwnerValue

BLOCK_DAYS, BLOCK_IDS = 16, 256
MAX_BLOCKS = 2**13  # of days, until the year 2300
END = 2**62
MODELS: tuple[Any, ...] = (OwnerQuarter, LinkQuarter, OwnerValue, LinkValue)
VALUES_COPIED, QUARTERS_COPIED = "days by country and so on", "days by quarter of an hour"
Pruned = Mapping[int, frozenset[int]]  # days by owner
# the owners of the links between two ids, the second included; none for one that is gone
FindOwners = Callable[[int, int], Mapping[int, int]]


def copy_days(engine: Engine, server: ClickHouse, find_owners: FindOwners, done: int) -> Iterator[int]:
    """Copies the blocks after the place `done`; yields the place of each that is there."""
    with reading(engine) as connection:
        pruned = read_pruned(connection)
    blocks = sorted({day // BLOCK_DAYS for days in pruned.values() for day in days})
    for number, model in enumerate(MODELS if pruned else ()):
        with reading(engine) as connection:
            last = connection.scalar(select(func.max(key_of(model)))) or 0
        for of_ids in range(last // BLOCK_IDS + 1):
            places = [(place_of(number, of_ids, block), block) for block in blocks]
            if places[-1][0] <= done:
                continue
            first = of_ids * BLOCK_IDS - 1
            owners = owners_of(model, find_owners, first, first + BLOCK_IDS)
            for place, block in places:
                if place > done:
                    copy_block(engine, server, model, owners, pruned, block, place)
                    yield place


def reading(engine: Engine) -> Connection:
    return engine.connect().execution_options(reads=True)


def place_of(number: int, of_ids: int, block: int) -> int:
    return (number * 2**40 + of_ids) * MAX_BLOCKS + block + 1


def key_of(model: Any) -> Any:
    return model.user_id if hasattr(model, "user_id") else model.link_id


def owners_of(model: Any, find_owners: FindOwners, first: int, last: int) -> Mapping[int, int]:
    """The owner of each key of a block's rows."""
    if hasattr(model, "user_id"):
        return {workspace_id: workspace_id for workspace_id in range(first + 1, last + 1)}
    return find_owners(first, last)


def read_pruned(connection: Connection) -> Pruned:
    found: dict[int, set[int]] = {}
    for workspace_id, day in connection.execute(
        select(OwnerDay.user_id, OwnerDay.day).where(OwnerDay.is_pruned)
    ):
        found.setdefault(workspace_id, set()).add(day)
    return {workspace_id: frozenset(days) for workspace_id, days in found.items()}


def copy_block(
    engine: Engine,
    server: ClickHouse,
    model: Any,
    owners: Mapping[int, int],
    pruned: Pruned,
    block: int,
    place: int,
) -> None:
    if not owners:
        return
    is_value = hasattr(model, "value_id")
    day = model.day if is_value else model.quarter // A_DAY
    span = model.day if is_value else model.quarter
    unit = 1 if is_value else A_DAY
    inside = and_(span >= block * BLOCK_DAYS * unit, span < (block + 1) * BLOCK_DAYS * unit)
    keys = key_of(model).in_([*owners])
    with reading(engine) as connection:
        columns = select(key_of(model).label("key"), day.label("on_day"), *model.__table__.c)
        found = connection.execute(columns.where(keys, inside)).all()
        rows = [row for row in found if row.on_day in pruned.get(owners[row.key], ())]
        ids = {id_ for row in rows for id_ in (row.value_id, row.path_id)} if is_value else set()
        texts = texts_of(connection, ids)
    of_links = not hasattr(model, "user_id")
    if is_value:
        insert_values(server, rows, owners, texts, f"copy:{place}", of_links=of_links)
    else:
        insert_quarters(server, rows, owners, f"copy:{place}", of_links=of_links)


def insert_values(
    server: ClickHouse, rows: list[Any], owners: Mapping[int, int], texts: Any, token: str, *, of_links: bool
) -> None:
    values = [
        (
            COPIED,
            owners[row.key],
            row.key if of_links else 0,
            row.dimension,
            row.is_bot,
            texts.get(row.value_id, "") + texts.get(row.path_id, ""),
            row.day,
            row.pageviews,
            row.visitors,
        )
        for row in rows
    ]
    if values:
        server.insert("day_value", VALUES, values, token)


def insert_quarters(
    server: ClickHouse, rows: list[Any], owners: Mapping[int, int], token: str, *, of_links: bool
) -> None:
    if not rows:
        return
    visitors = [
        (COPIED, owners[row.key], row.key if of_links else 0, row.is_bot, row.quarter, row.visitors)
        for row in rows
    ]
    server.insert("day_visitor", VISITORS, visitors, token)
    if of_links:
        sums = [(owners[row.key], row.key, row.is_bot, row.quarter, row.pageviews) for row in rows]
        server.insert("link_quarter", QUARTERS, sums, token)
    else:
        totals = [(row.key, row.is_bot, row.quarter, row.pageviews) for row in rows]
        server.insert("owner_quarter", OWNER_QUARTERS, totals, token)


def count_sql(connection: Connection) -> dict[str, int]:
    """Clicks of removed days in SQL, as values and as quarters of an hour."""
    gone = OwnerDay.is_pruned
    of_day = and_(OwnerDay.user_id == OwnerValue.user_id, OwnerDay.day == OwnerValue.day)
    by_value = (
        select(func.sum(OwnerValue.pageviews))
        .join(OwnerDay, of_day)
        .where(gone, OwnerValue.dimension == CHECKED)
    )
    of_quarter = and_(OwnerDay.user_id == OwnerQuarter.user_id, OwnerDay.day == OwnerQuarter.quarter // A_DAY)
    by_quarter = select(func.sum(OwnerQuarter.visitors)).join(OwnerDay, of_quarter).where(gone)
    return {
        VALUES_COPIED: int(connection.scalar(by_value) or 0),
        QUARTERS_COPIED: int(connection.scalar(by_quarter) or 0),
    }


def count_copied(server: ClickHouse, what: str) -> int:
    column, table = {
        VALUES_COPIED: ("pageviews", f"day_value WHERE dimension = {CHECKED} AND"),
        QUARTERS_COPIED: ("visitors", "day_visitor WHERE"),
    }[what]
    [(found,)] = server.query(f"SELECT sum({column}) FROM {table} number = {COPIED} AND link_id = 0")
    return int(found)
