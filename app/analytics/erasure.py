"""Erases all that is stored of the clicks on one workspace's links.

Each transaction removes a few thousand rows at most, because the ingest waits meanwhile. Interned texts are
removed later, if no other owner's rows name them (interning_cleanup.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, Engine, Table, bindparam, delete, select, tuple_

from app.analytics import interning_state
from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.tables import erase_owner, owners
from app.analytics.engine import open_engine
from app.analytics.models import Click
from app.analytics.periods import DAY_MS
from app.analytics.rollup_models import OwnerDay, Seen
from app.analytics.rollups import write_alone
from app.core.config import Settings
from app.core.database import CLICKS as SCHEMA
from app.events.entries import ENTRIES

BATCH_SIZE = 2000
CLICKS = cast("Table", Click.__table__)
SEEN = cast("Table", Seen.__table__)
SEEN_KEY = [f"of_{column.name}" for column in SEEN.primary_key]
OWNER_DAYS = cast("Table", OwnerDay.__table__)
# roll-ups and lists, also tables added later
OTHERS = [table for table in CLICKS.metadata.sorted_tables if table.schema == SCHEMA and table is not CLICKS]
OF_LINKS = [table for table in OTHERS if "link_id" in table.c and "workspace_id" not in table.c]
OF_OWNERS = [table for table in OTHERS if "workspace_id" in table.c]


def erase_clicks(settings: Settings, workspace_id: int, links: Iterable[Sequence[int]]) -> None:
    """Erases the owner's clicks and roll-ups.

    `links`: batches of ids of the owner's links. Some of these may have roll-ups but no clicks any more.
    """
    if settings.clickhouse_url:  # besides: what it was copied from may still be in the tables below
        erase_owner(clickhouse_of(settings.clickhouse_url), workspace_id)
    engine = open_engine(settings)
    try:
        # before the clicks, or a running roll-up would write what it has read of them
        remove_all(engine, OWNER_DAYS, OWNER_DAYS.c.workspace_id == workspace_id)
        while visited := forget_clicks(engine, workspace_id):
            forget_links(engine, visited)
        for ids in links:
            forget_links(engine, ids)
        for table in OF_OWNERS:
            remove_all(engine, table, table.c.workspace_id == workspace_id)
    finally:
        engine.dispose()


def owners_with_clicks(settings: Settings) -> set[int]:
    """The workspaces that any click or event is of, also those that are not there any more."""
    elsewhere = owners(clickhouse_of(settings.clickhouse_url)) if settings.clickhouse_url else set()
    engine = open_engine(settings)
    try:
        with engine.connect() as connection:
            told = set(connection.scalars(select(ENTRIES.c.workspace_id).distinct()))
            return elsewhere | told | set(connection.scalars(select(OWNER_DAYS.c.workspace_id).distinct()))
    finally:
        engine.dispose()


def forget_clicks(engine: Engine, workspace_id: int) -> list[int]:
    """Removes a batch of clicks, and when their visitors were first seen; returns the links' ids."""
    mine = CLICKS.c.workspace_id == workspace_id
    columns = CLICKS.c.id, CLICKS.c.link_id, CLICKS.c.time_ms, CLICKS.c.visitor
    with engine.begin() as connection:
        write_alone(connection)
        found = connection.execute(select(*columns).where(mine).limit(BATCH_SIZE)).all()
        if not found:
            return []
        times = [row.time_ms for row in found]
        # their times let PostgreSQL look into few partitions
        within = CLICKS.c.time_ms >= min(times), CLICKS.c.time_ms <= max(times)
        connection.execute(delete(CLICKS).where(CLICKS.c.id.in_([row.id for row in found]), *within))
        interning_state.count_removal(connection, interning_state.REMOVED_ROWS)
        seen = {
            (row.time_ms // DAY_MS, row.visitor, *scope)
            for row in found
            if row.visitor is not None
            for scope in ((False, row.link_id), (True, workspace_id))
        }
        if seen:
            rows = [dict(zip(SEEN_KEY, who, strict=True)) for who in sorted(seen)]
            connection.execute(delete(SEEN).where(*named_seen()), rows)
    return sorted({row.link_id for row in found})


def named_seen() -> list[ColumnElement[bool]]:
    return [column == bindparam(f"of_{column.name}") for column in SEEN.primary_key]


def forget_links(engine: Engine, ids: Sequence[int]) -> None:
    for table in OF_LINKS:
        remove_all(engine, table, table.c.link_id.in_(ids))


def remove_all(engine: Engine, table: Table, condition: ColumnElement[bool]) -> None:
    while remove_some(engine, table, condition):
        pass


def remove_some(engine: Engine, table: Table, condition: ColumnElement[bool]) -> int:
    key: Any = tuple_(*table.primary_key)
    some = select(*table.primary_key).where(condition).limit(BATCH_SIZE)
    gone = key.in_(some) if len(table.primary_key) > 1 else condition
    with engine.begin() as connection:
        write_alone(connection)
        removed = connection.execute(delete(table).where(gone)).rowcount
        if removed:
            interning_state.count_removal(connection, interning_state.REMOVED_ROWS)
    return removed
