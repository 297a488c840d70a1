"""Click counters: adds journal lines to them, each line exactly once."""

from __future__ import annotations

import logging
from collections import Counter as Tally
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import cast

from sqlalchemy import Table
from sqlalchemy.engine import Connection

from app.analytics import bulk
from app.analytics.models import Counter, Loss
from app.analytics.offsets import begin_at_zero, insert_into, move_offset
from app.core.scheduling import giving_way
from app.journal.codec import FORMATS
from app.journal.reader import Chunk
from app.journal.segments import version_of

COUNTERS = cast("Table", Counter.__table__)
LOSSES = cast("Table", Loss.__table__)
DAMAGED = "damaged"
# lines; more than a process has threads that write clicks
REWRITTEN_WITHIN = 200

log = logging.getLogger(__name__)


def count_chunks(connection: Connection, directory: Path, chunks: Sequence[Chunk]) -> Collection[int]:
    """Adds the chunks' human clicks to their links' counters, and moves the offsets past them.

    Returns the ids of these links.
    """
    for chunk in chunks:
        if chunk.start == 0:
            begin_at_zero(connection, directory, chunk.name)
    return count_begun(connection, chunks)


def count_begun(connection: Connection, chunks: Sequence[Chunk]) -> Collection[int]:
    """The same for chunks of segments that have offsets already."""
    totals: Tally[int] = Tally()
    damaged = 0
    for chunk in chunks:
        move_offset(connection, chunk.name, "counters_offset", chunk.start, chunk.end)
        damaged += tally_chunk(chunk, totals)
    add_clicks(connection, totals)
    add_damaged(connection, damaged)
    return totals.keys()


def tally_chunk(chunk: Chunk, totals: Tally[int]) -> int:
    """Adds a chunk to the totals; returns how many of its lines are damaged."""
    head = FORMATS[version_of(chunk.name) or ""].head
    found = [head(line) for line in giving_way(chunk.lines)]
    totals.update(each[0] for each in found if each is not None and not each[1])
    return sum(
        each is None and not is_written_again(chunk.lines, number) for number, each in enumerate(found)
    )


def is_written_again(lines: Sequence[bytes], number: int) -> bool:
    """Whether a damaged line is the beginning of a later one: at first the disk took only a part of it.

    Its writer then wrote the whole line again, so nothing is lost. Lines of other threads may come between.
    """
    line, following = lines[number], lines[number + 1 : number + 1 + REWRITTEN_WITHIN]
    return any(len(other) > len(line) and other.startswith(line) for other in following)


def add_clicks(connection: Connection, totals: Tally[int]) -> None:
    # sorted, or two ingesters on one PostgreSQL could deadlock over each other's links
    bulk.insert_or_add(connection, COUNTERS, sorted(totals.items()))


def add_damaged(connection: Connection, lines: int) -> None:
    if not lines:
        return
    log.warning("%d damaged lines of the journal are skipped", lines)
    insert = insert_into(connection, LOSSES).values(reason=DAMAGED, lines=lines)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=["reason"], set_={"lines": LOSSES.c.lines + insert.excluded.lines}
        )
    )
