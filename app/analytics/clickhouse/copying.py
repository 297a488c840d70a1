"""Copies clicks from the SQL database to ClickHouse: single clicks first, then days of which only"
" roll-ups are left.

Batches are fixed ranges of ids and days. Each is inserted with a token of its range and noted when it is
there. So a copy that was killed goes on where it was, and nothing is there twice. New clicks go to ClickHouse
alone, so it ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from sqlalchemy import Engine, Table, exists, func, select, update

from app.analytics import rollup
from app.analytics.clickhouse import copied_days
from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.intents import Intent, find_intent, note_intent, remove_intent
from app.analytics.clickhouse.rows import BEFORE, shelf_of
from app.analytics.clickhouse.schema import COLUMNS, make_tables
from app.analytics.interned_texts import texts_of
from app.analytics.models import Click, Position
from app.analytics.offsets import insert_into
from app.analytics.periods import DAY_MS
from app.analytics.raw_queries import AGENTS, CLICKS
from app.analytics.rollup_models import OwnerDay
from app.analytics.rows import TEXTS
from app.analytics.scope import Bind

POSITIONS = cast("Table", Position.__table__)
DONE = "copied to ClickHouse"  # the name of a row among the offsets: all is copied
ROWS, DAYS = "copy", "copy days"  # sources of what is under way
BATCH_IDS = 20_000
DEVICE = ("device_type_id", "os_name_id", "browser_name_id")


class Compared(NamedTuple):
    """How many clicks SQL and ClickHouse have of what was copied."""

    what: str
    sql: int
    clickhouse: int


def is_copied(engine: Engine) -> bool:
    """Whether nothing in SQL is still to be copied."""
    with engine.connect().execution_options(reads=True) as connection:
        done = connection.scalar(select(exists().where(POSITIONS.c.name == DONE)))
        return bool(done) or not connection.scalar(select(exists().where(OwnerDay.day.is_not(None))))


def copy_clicks(
    engine: Engine, server: ClickHouse, find_owners: copied_days.FindOwners, retention: int
) -> Iterator[tuple[int, int]]:
    """Copies what is not copied yet; yields after each batch how far it is, and where it ends."""
    make_tables(server)
    finish_pruning(engine)
    intent = begin(engine, ROWS, lambda connection: connection.scalar(select(func.max(Click.id))) or 0)
    for first in range(intent.start, intent.end, BATCH_IDS):
        last = first + BATCH_IDS
        copy_rows(engine, server, intent, first, last, retention)
        advance(engine, intent, min(last, intent.end))
        yield min(last, intent.end), intent.end
    days = begin(engine, DAYS, lambda _connection: copied_days.END)
    for place in copied_days.copy_days(engine, server, find_owners, days.start):
        advance(engine, days, place)
        yield intent.end, intent.end


def finish(engine: Engine) -> None:
    """Notes that all is copied and compared."""
    with engine.begin() as connection:
        for source in (ROWS, DAYS):
            if (intent := find_intent(connection, source)) is not None:
                remove_intent(connection, intent)
        row = {"name": DONE, "counters_offset": 0, "rows_offset": 0}
        connection.execute(insert_into(connection, POSITIONS).values(row).on_conflict_do_nothing())


def compare(engine: Engine, server: ClickHouse) -> list[Compared]:
    """Counts of both. New clicks have ids of their own in ClickHouse, far above those of SQL."""
    with engine.connect().execution_options(reads=True) as connection:
        rows = connection.scalar(select(func.count()).select_from(CLICKS)) or 0
        end = connection.scalar(select(func.max(Click.id))) or 0
        days = copied_days.count_sql(connection)
    [(copied,)] = server.query(f"SELECT count() FROM click WHERE id <= {end:d}")
    found = [Compared("single clicks", rows, copied)]
    return found + [
        Compared(what, count, copied_days.count_copied(server, what)) for what, count in days.items()
    ]


def finish_pruning(engine: Engine) -> None:
    """Removes the rest of days of which a part is removed, so that each day is in one of two states."""
    begun = select(OwnerDay.user_id, OwnerDay.day).where(OwnerDay.is_pruned, OwnerDay.visits > 0)
    with engine.connect().execution_options(reads=True) as connection:
        found = connection.execute(begun).all()
    for workspace_id, day in found:
        for _ in rollup.prune_day(engine, workspace_id, day):
            pass


def begin(engine: Engine, source: str, end: Any) -> Intent:
    """What is under way, or what begins now."""
    with engine.begin() as connection:
        intent = find_intent(connection, source)
        if intent is None:
            today = int(time.time() * 1000) // DAY_MS
            intent = Intent(source, today, 0, end(connection))
            note_intent(connection, intent)
    return intent


def advance(engine: Engine, intent: Intent, place: int) -> None:
    with engine.begin() as connection:
        moved = update(POSITIONS).where(POSITIONS.c.name == intent.name)
        connection.execute(moved.values(counters_offset=place))


def copy_rows(
    engine: Engine, server: ClickHouse, intent: Intent, first: int, last: int, retention: int
) -> None:
    """Copies the clicks with ids above `first` up to `last`."""
    with engine.connect().execution_options(reads=True) as connection:
        shelves = read_rows(connection, intent, first, last, retention)
    for shelf, rows in sorted(shelves.items()):
        server.insert("click", COLUMNS, rows, f"copy:{first}-{last}:{shelf}")


def read_rows(bind: Bind, intent: Intent, first: int, last: int, retention: int) -> dict[int, list[Any]]:
    ids = [f"{name}_id" for name in TEXTS]
    before, after = [CLICKS.c[name] for name in ids[:BEFORE]], [CLICKS.c[name] for name in ids[BEFORE:]]
    numbers = (
        CLICKS.c.time_ms,
        CLICKS.c.id,
        CLICKS.c.link_id,
        CLICKS.c.user_id,
        CLICKS.c.is_bot,
        CLICKS.c.visitor,
    )
    wanted = select(*numbers, *before, *(AGENTS.c[name] for name in DEVICE), *after)
    source = CLICKS.outerjoin(AGENTS, AGENTS.c.id == CLICKS.c.agent_id)
    some = wanted.select_from(source).where(CLICKS.c.id > first, CLICKS.c.id <= min(last, intent.end))
    found = bind.execute(some.order_by(CLICKS.c.id)).all()
    texts = texts_of(bind, {id_ for row in found for id_ in row[len(numbers) :]})
    shelves: dict[int, list[Any]] = {}
    for row in found:
        shelf = shelf_of(row.time_ms // DAY_MS, intent.day, (), retention)
        words = [texts.get(id_, "") for id_ in row[len(numbers) :]]
        shelves.setdefault(shelf, []).append([shelf, *row[:5], row.visitor or "", *words])
    return shelves
