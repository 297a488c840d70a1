"""Copies clicks from the SQL database to an empty ClickHouse: single clicks, and then the roll-ups of days of
which nothing else is left. Waypost is stopped meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Engine, Table, func, select
from sqlalchemy.engine import Connection

from app.analytics import rollup
from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.tables import COLUMNS, COPIED, DAY_COLUMNS, make_tables
from app.analytics.clickhouse.writer import BEFORE_DEVICE
from app.analytics.day_state import noon
from app.analytics.interning import texts_of
from app.analytics.periods import DAY_MS, QUARTERS
from app.analytics.raw_queries import AGENTS, CLICKS
from app.analytics.rollup_models import LinkQuarter, LinkValue, OwnerDay, OwnerQuarter, OwnerValue
from app.analytics.rows import TEXTS

BATCH_SIZE = 20_000
DEVICE = ("device_type_id", "os_name_id", "browser_name_id")
Pruned = set[tuple[int, int]]  # owners and days
ROLL_UPS = [cast("Table", each.__table__) for each in (OwnerQuarter, LinkQuarter, OwnerValue, LinkValue)]


class NotEmpty(Exception):
    """The target has clicks already: of Waypost, or of a copy that was broken off."""


def copy_clicks(engine: Engine, server: ClickHouse, owners: Mapping[int, int]) -> Iterator[int]:
    """Copies all; yields how many rows it has read. `owners`: the workspace of each link. Raises NotEmpty."""
    make_tables(server)
    if any(server.query(f"SELECT 1 FROM {table} LIMIT 1") for table in ("click", "day", "quarter")):
        raise NotEmpty(server.name)
    finish_pruning(engine)
    done = 0
    with reading(engine) as connection:
        with connection.execute(single_clicks()) as found:
            for rows in found.partitions(BATCH_SIZE):
                insert_clicks(connection, server, rows, done)
                done += len(rows)
                yield done
        pruned = {(row.workspace_id, row.day) for row in connection.execute(pruned_days())}
        for table in ROLL_UPS if pruned else ():
            with connection.execute(select(table)) as found:
                for rows in found.partitions(BATCH_SIZE):
                    if some := roll_ups(connection, table, rows, owners, pruned):
                        server.insert("day", DAY_COLUMNS, some, f"copy:{done}")
                    done += len(rows)
                    yield done
    server.work(
        "INSERT INTO quarter SELECT user_id, link, is_bot, quarter, pageviews FROM day"
        f" WHERE shelf = {COPIED} AND dimension = 0"
    )


def compare(engine: Engine, server: ClickHouse) -> dict[str, tuple[int, int]]:
    """How many clicks SQL and ClickHouse have."""
    with reading(engine) as connection:
        rows = connection.scalar(select(func.count()).select_from(CLICKS)) or 0
        clicks = connection.scalar(select(func.sum(OwnerQuarter.pageviews))) or 0
    [(copied,)] = server.query("SELECT count() FROM click")
    [(summed,)] = server.query("SELECT sum(pageviews) FROM quarter WHERE link = 0")
    return {"single clicks": (rows, int(copied)), "clicks in all": (int(clicks), int(summed))}


def reading(engine: Engine) -> Connection:
    return engine.connect().execution_options(reads=True, stream_results=True)


def finish_pruning(engine: Engine) -> None:
    """Removes the rest of days of which a part is removed, so that each day is in one of two states."""
    with reading(engine) as connection:
        found = connection.execute(pruned_days().where(OwnerDay.visits > 0)).all()
    for workspace_id, day in found:
        for _ in rollup.prune_day(engine, workspace_id, day):
            pass


def pruned_days() -> Any:
    return select(OwnerDay.workspace_id, OwnerDay.day).where(OwnerDay.is_pruned)


def single_clicks() -> Any:
    ids = [CLICKS.c[f"{name}_id"] for name in TEXTS]
    numbers = [CLICKS.c[name] for name in ("time_ms", "id", "link_id", "workspace_id", "is_bot", "visitor")]
    device = [AGENTS.c[name] for name in DEVICE]
    source = CLICKS.outerjoin(AGENTS, AGENTS.c.id == CLICKS.c.agent_id)
    wanted = select(*numbers, *ids[:BEFORE_DEVICE], *device, *ids[BEFORE_DEVICE:])
    return wanted.select_from(source).order_by(CLICKS.c.id)


def insert_clicks(connection: Connection, server: ClickHouse, rows: Sequence[Any], done: int) -> None:
    texts = texts_of(connection, {id_ for row in rows for id_ in row[6:]})
    days: dict[int, list[Any]] = {}
    for row in rows:
        day = row.time_ms // DAY_MS
        words = [texts.get(id_, "") for id_ in row[6:]]
        days.setdefault(day, []).append([day, *row[:5], row.visitor or "", *words])
    for day, some in sorted(days.items()):
        server.insert("click", COLUMNS, some, f"copy:{done}:{day}")


def roll_ups(
    connection: Connection, table: Table, rows: Sequence[Any], owners: Mapping[int, int], pruned: Pruned
) -> list[list[Any]]:
    """Those of removed days: visitors by quarter of an hour, or values of a day."""
    is_value, is_links = "value_id" in table.c, "link_id" in table.c
    ids = {id_ for row in rows for id_ in (row.value_id, row.path_id)} if is_value else set()
    texts = texts_of(connection, ids)
    found = []
    for row in rows:
        day = row.day if is_value else row.quarter // QUARTERS
        owner, link = (owners.get(row.link_id, 0), row.link_id) if is_links else (row.workspace_id, 0)
        what: tuple[Any, ...] = (0, row.is_bot, "", 0 if is_value else row.quarter)
        if is_value:
            value = texts.get(row.value_id, "") + texts.get(row.path_id, "")
            what = (row.dimension, row.is_bot, value, noon(day))
        if (owner, day) in pruned:
            found.append([owner, link, *what, COPIED, row.pageviews, row.visitors])
    return found
