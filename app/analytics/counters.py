"""How do lines of the journal become counters, each exactly once?"""

from __future__ import annotations

import logging
from collections import Counter as Tally
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.clicks import bulk
from app.clicks.models import Counter, Loss
from app.clicks.positions import begin_at_zero, insert_into, move
from app.journal.reading import Chunk
from app.journal.record import FORMATS
from app.journal.segments import version_of

COUNTERS = cast("Table", Counter.__table__)
LOSSES = cast("Table", Loss.__table__)
DAMAGED = "damaged"

log = logging.getLogger(__name__)


def count(connection: Connection, directory: Path, chunks: Sequence[Chunk]) -> None:
    """Add the people's visits of some chunks to their links' counters, and move the positions past them."""
    totals: Tally[int] = Tally()
    damaged = 0
    for chunk in chunks:
        if chunk.start == 0:
            begin_at_zero(connection, directory, chunk.name)
        move(connection, chunk.name, "counters_offset", chunk.start, chunk.end)
        damaged += tally(chunk, totals)
    add_clicks(connection, totals)
    add_damaged(connection, damaged)


def tally(chunk: Chunk, totals: Tally[int]) -> int:
    """Add a chunk to the totals; how many of its lines are damaged."""
    head = FORMATS[version_of(chunk.name) or ""].head
    found = [head(line) for line in chunk.lines]
    totals.update(each[0] for each in found if each is not None and not each[1])
    return found.count(None)


def add_clicks(connection: Connection, totals: Tally[int]) -> None:
    # in order, or two ingesters of one PostgreSQL could wait for each other's links
    bulk.add(connection, COUNTERS, sorted(totals.items()))


def add_damaged(connection: Connection, lines: int) -> None:
    if not lines:
        return
    log.warning("%d damaged lines of the journal are left out", lines)
    insert = insert_into(connection, LOSSES).values(reason=DAMAGED, lines=lines)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=["reason"], set_={"lines": LOSSES.c.lines + insert.excluded.lines}
        )
    )
