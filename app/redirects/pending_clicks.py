"""Counts a limited link's visits in the journal, including those that are not ingested yet."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import inf
from pathlib import Path

from sqlalchemy import bindparam, column, literal, select, table, true

from app.core.errors import StoreDown
from app.journal import reader as journal_reader
from app.journal import segments
from app.journal.codec import FORMATS
from app.journal.reader import Chunk
from app.links.clicks import COUNTER
from app.redirects.compiled_link import CompiledLink
from app.redirects.reader import Statement, Store

# every process knows a new limit within a second; after that no visit of the link goes to the journal
SETTLED_SECONDS = 2.0
# other machines may still have visits from before the limit in their journals, which are ingested later
RECOUNT_SECONDS = 2.0
BYTES = 1024 * 1024
TRIES = 5

# this table of offsets belongs to a package above this one
POSITION = table("position", column("name"), column("counters_offset"), schema="clicks")
ONE = select(literal(1).label("one")).subquery()
# in one statement, so as of one moment: the count, and the offset in each segment up to which it goes
COUNTED = select(COUNTER.c.clicks, POSITION.c.name, POSITION.c.counters_offset).select_from(
    ONE.outerjoin(COUNTER, COUNTER.c.link_id == bindparam("link_id")).outerjoin(POSITION, true())
)


class Journaled:
    """Adds the counter and the journal's lines beyond its offsets. `SETTLED_SECONDS` after a limited link was
    compiled the sum is kept in the compiled link: on one machine it is final then, and where several share a
    PostgreSQL it is counted anew after `RECOUNT_SECONDS`."""

    def __init__(self, store: Store, directory: Path) -> None:
        self.store = store
        self.directory = directory
        self.statement = Statement(COUNTED, store.engine.dialect)
        self.keep_seconds = inf if store.engine.dialect.name == "sqlite" else RECOUNT_SECONDS

    def visits(self, compiled_link: CompiledLink) -> int:
        """All visits of a limited link that are not in its limit counter. Raises StoreDown."""
        now = time.monotonic()
        if compiled_link.journaled is None or now >= compiled_link.journaled_until:
            is_settled = now - compiled_link.made > SETTLED_SECONDS
            found = self.counted_and_waiting(compiled_link.id)
            if is_settled:
                compiled_link.journaled, compiled_link.journaled_until = found, now + self.keep_seconds
            return found
        return compiled_link.journaled

    def counted_and_waiting(self, link_id: int) -> int:
        for _ in range(TRIES):
            ends = self.ends()
            rows = self.store.read(self.statement, link_id=link_id)
            starts = {row["name"]: row["counters_offset"] for row in rows}
            waiting = self.waiting(ends, starts, link_id)
            if waiting is not None:
                return int(rows[0]["clicks"] or 0) + waiting
        raise StoreDown("segments of the journal go more quickly than they can be read")

    def ends(self) -> dict[str, int]:
        """The segments and their lengths. Read before the offsets, so the offsets are the later state."""
        return {name: size(self.directory / name) for name in segments.list_segments(self.directory)}

    def waiting(self, ends: Mapping[str, int], starts: Mapping[str, int], link_id: int) -> int | None:
        """The link's visits after the offsets. None if a segment was removed meanwhile: try again."""
        total = 0
        for name, end in ends.items():
            start = starts.get(name, 0)
            while start < end:
                chunk = journal_reader.read(self.directory, name, start, BYTES)
                if chunk is None:
                    return None
                if chunk.end == start:
                    break  # the rest is a line that is being written
                total += visits_in(chunk, link_id)
                start = chunk.end
        return total


def visits_in(chunk: Chunk, link_id: int) -> int:
    """The number of people's visits of one link. Lines without its id are skipped undecoded."""
    head, mark = FORMATS[segments.version_of(chunk.name) or ""].head, b"\t%d\t" % link_id
    return sum(head(line) == (link_id, 0) for line in chunk.lines if mark in line)


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # removed, so the counter has all of it
        return 0
