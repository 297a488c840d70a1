"""Rows of single clicks in ClickHouse, and their insertion."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

from sqlalchemy.engine import Connection

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.schema import COLUMNS
from app.analytics.periods import DAY_MS
from app.analytics.rows import TEXTS, texts_of_click
from app.events import entries
from app.journal.codec import Visit
from app.redirects.user_agent import parse_device

Row = tuple[Any, ...]
# texts before the device's, and after it
BEFORE = TEXTS.index("agent") + 1
LAST_DAY = 2**16 - 2
MAX_ID = 2**63 - 1


def insert_clicks(
    server: ClickHouse,
    token: str,
    visits: Sequence[Visit],
    day: int,
    shelves: Collection[int],
    retention: int,
) -> None:
    """Inserts clicks, once however often it is called with the same token and the same arguments.

    `day`: the day on which they were first to be inserted; `shelves`: those that are removed.
    """
    rows: dict[int, list[Row]] = defaultdict(list)
    for id_, visit in enumerate(visits, first_id_of(token)):
        shelf = shelf_of(visit.time_ms // DAY_MS, day, shelves, retention)
        rows[shelf].append(row_of(visit, shelf, id_ & MAX_ID))
    for shelf, some in sorted(rows.items()):  # one partition each: a part is there as a whole, or not at all
        server.insert("click", COLUMNS, some, f"{token}:{shelf}")


def first_id_of(token: str) -> int:
    """The id of the first click of a batch; those of the others follow."""
    return int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "big") >> 1


def note_entries(connection: Connection, token: str, visits: Sequence[Visit]) -> None:
    """Adds the clicks of a batch that is inserted to the feed of events."""
    places = ((visit.link_id, visit.user_id, visit.time_ms) for visit in visits)
    entries.add_clicks(connection, first_id_of(token), places)


def shelf_of(own: int, day: int, removed: Collection[int], retention: int) -> int:
    """The day under which a click is kept: its own, unless that is removed or is to be soon."""
    is_kept = day - retention + 1 < own <= LAST_DAY and own not in removed
    return own if is_kept else day


def row_of(visit: Visit, shelf: int, id_: int) -> Row:
    texts = texts_of_click(visit)
    device = parse_device(visit.agent)
    return (
        shelf,
        visit.time_ms,
        id_,
        visit.link_id,
        visit.user_id,
        bool(visit.is_bot),
        visit.visitor,
        *texts[:BEFORE],
        *device,
        *texts[BEFORE:],
    )
