"""Entries of the feed: whoever adds some gets the next positions, and holds the counter until the commit.

So no position is ever committed before a lower one, whatever runs at the same time, and a reader that has
seen one has seen all below it. That holds on SQLite, which has one writer, and on PostgreSQL by the lock on
the counter's row.
"""

# see docs/decisions/2026-11-25-events-feed.md
from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, cast

from sqlalchemy import Table, delete, insert, select, update
from sqlalchemy.engine import Connection

from app.events.models import EventCounter, EventEntry
from app.events.types import CLICKED

ENTRIES = cast("Table", EventEntry.__table__)
COUNTER = cast("Table", EventCounter.__table__)
DAY_SECONDS = 24 * 3600
# clicks in one entry: what a page may have to read of which it shows one
MAX_CLICKS = 500
PRUNED = 2000  # removed in one transaction
MAX_LINKS = 50  # of one entry, whose ids it names

# a link's id and its workspace's, and the time in ms: what an entry has to know of a click
Clicked = tuple[int, int, int]


class NewEntry(NamedTuple):
    """An event that is to get its place."""

    workspace_id: int
    type: str
    event_id: str
    link_id: int | None
    content: str | None
    url_before: str | None
    origin_before: str | None


def reserve(connection: Connection, positions: int) -> int:
    """Takes so many positions; returns the first. The counter is held until this transaction ends."""
    name, given = counter_name(connection), {"n": positions}
    statement = (
        f"INSERT INTO {name} (id, position, horizon, click_id) VALUES (1, %(n)s, 0, 0)"  # noqa: S608
        f" ON CONFLICT (id) DO UPDATE SET position = event_counter.position + %(n)s RETURNING position"
    )
    return int(run(connection, statement, given)) - positions + 1


def reserve_clicks(connection: Connection, clicks: int) -> int:
    """Takes so many ids of clicks on SQLite; returns the first. An id is never given twice."""
    statement = (
        "INSERT INTO event_counter (id, position, horizon, click_id)"
        " VALUES (1, 0, 0, coalesce((SELECT max(id) FROM click), 0) + %(n)s) ON CONFLICT (id) DO UPDATE SET"
        " click_id = max(click_id, coalesce((SELECT max(id) FROM click), 0)) + %(n)s RETURNING click_id"
    )
    return int(run(connection, statement, {"n": clicks})) - clicks + 1


def run(connection: Connection, statement: str, given: dict[str, int]) -> Any:
    """One value of a statement, by the driver: this runs for every batch of clicks."""
    if connection.dialect.name != "postgresql":
        statement = statement.replace("%(n)s", ":n")
    return connection.exec_driver_sql(statement, given).scalar_one()


def counter_name(connection: Connection) -> str:
    return COUNTER.fullname if connection.dialect.name == "postgresql" else COUNTER.name


def add_events(connection: Connection, entries: Sequence[NewEntry]) -> None:
    """Adds events in their order, without those that are there already."""
    first = reserve(connection, len(entries))  # first of all, or another might add the same ones meanwhile
    known = known_ids(connection, [entry.event_id for entry in entries])
    new = [entry for entry in entries if entry.event_id not in known]
    if new:
        today = int(time.time()) // DAY_SECONDS
        rows = [
            {"position": position, "day": today, **entry._asdict()}
            for position, entry in enumerate(new, first)
        ]
        connection.execute(insert(ENTRIES), rows)


def known_ids(connection: Connection, event_ids: Collection[str]) -> set[str]:
    found = select(ENTRIES.c.event_id).where(ENTRIES.c.event_id.in_(event_ids))
    return set(connection.scalars(found))


def add_clicks(connection: Connection, first_id: int, clicks: Iterable[Clicked]) -> None:
    """Adds entries for clicks with consecutive ids, in the transaction that makes them readable."""
    batches = list(batches_of(first_id, clicks))
    if batches:
        first = reserve(connection, len(batches))
        today = int(time.time()) // DAY_SECONDS
        rows = [
            {"position": position, "day": today, "type": CLICKED, **batch}
            for position, batch in enumerate(batches, first)
        ]
        connection.execute(insert(ENTRIES), rows)


def batches_of(first_id: int, clicks: Iterable[Clicked]) -> Iterator[dict[str, Any]]:
    """The clicks of each workspace, in parts."""
    by_workspace: dict[int, list[tuple[int, int, int]]] = {}
    for id_, (link_id, workspace_id, time_ms) in enumerate(clicks, first_id):
        by_workspace.setdefault(workspace_id, []).append((id_, link_id, time_ms))
    for workspace_id, found in by_workspace.items():
        for start in range(0, len(found), MAX_CLICKS):
            yield batch_of(workspace_id, found[start : start + MAX_CLICKS])


def batch_of(workspace_id: int, clicks: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
    ids, links, times = zip(*clicks, strict=True)
    on = sorted(set(links))
    return {
        "workspace_id": workspace_id,
        "clicks": len(ids),
        "first_id": ids[0],
        "last_id": ids[-1],
        "first_ms": min(times),
        "last_ms": max(times),
        "link_ids": json.dumps(on, separators=(",", ":")) if len(on) <= MAX_LINKS else None,
    }


def is_prunable(connection: Connection, oldest: int) -> bool:
    """Whether the first entry is of a day before the first day that is kept."""
    day = connection.scalar(select(ENTRIES.c.day).order_by(ENTRIES.c.position).limit(1))
    return day is not None and day < oldest


def prune(connection: Connection, oldest: int) -> bool:
    """Removes some of the first entries, of days before `oldest`, and raises the horizon past them. Returns
    whether there may be more."""
    reserve(connection, 0)  # one at a time, in the order of those that add entries
    first = select(ENTRIES.c.position, ENTRIES.c.day).order_by(ENTRIES.c.position).limit(PRUNED)
    found = connection.execute(first).all()
    old = [row.position for row in takewhile(lambda row: row.day < oldest, found)]
    if old:
        connection.execute(delete(ENTRIES).where(ENTRIES.c.position <= old[-1]))
        connection.execute(update(COUNTER).values(horizon=old[-1] + 1))
    return len(old) == PRUNED
