"""How many visits of a link has the journal brought, those included that nobody took in yet?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import bindparam, column, literal, select, table, true

from app.journal import reading, segments
from app.journal.reading import Chunk
from app.journal.record import FORMATS
from app.links.clicks import COUNTER
from app.visits.plan import Plan
from app.visits.store import Statement, Store, StoreDown

# every process knows a change within a second; after that no visit of a limited link goes to the journal
SETTLED_SECONDS = 2.0
BYTES = 1024 * 1024
TRIES = 5

# the positions belong to a package above this one
POSITION = table("position", column("name"), column("counters_offset"), schema="clicks")
ONE = select(literal(1).label("one")).subquery()
# in one statement, and so of one moment: what is counted, and up to where in each segment
COUNTED = select(COUNTER.c.clicks, POSITION.c.name, POSITION.c.counters_offset).select_from(
    ONE.outerjoin(COUNTER, COUNTER.c.link_id == bindparam("link_id")).outerjoin(POSITION, true())
)


class Journaled:
    """Asks the counter and reads what the journal holds beyond it; of a link that got its limit some time
    ago only the counter, for nothing can come any more."""

    def __init__(self, store: Store, directory: Path) -> None:
        self.store = store
        self.directory = directory
        self.statement = Statement(COUNTED, store.engine)

    def visits(self, plan: Plan) -> int:
        """All visits of a limited link that are not in its limit's own count. Raises StoreDown."""
        if plan.journaled is None:
            is_settled = time.monotonic() - plan.made > SETTLED_SECONDS
            found = self.counted_and_waiting(plan.id)
            if is_settled:
                plan.journaled = found
            return found
        return plan.journaled

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
        """The segments and how long they are; asked before the positions, so these are later."""
        return {name: size(self.directory / name) for name in segments.listed(self.directory)}

    def waiting(self, ends: Mapping[str, int], starts: Mapping[str, int], link_id: int) -> int | None:
        """The link's visits behind the positions; None when a segment has gone meanwhile: ask again."""
        total = 0
        for name, end in ends.items():
            start = starts.get(name, 0)
            while start < end:
                chunk = reading.read(self.directory, name, start, BYTES)
                if chunk is None:
                    return None
                if chunk.end == start:
                    break  # the rest is a line that is being written
                total += visits_in(chunk, link_id)
                start = chunk.end
        return total


def visits_in(chunk: Chunk, link_id: int) -> int:
    """People's visits of one link. Most lines are another link's, and need no closer look."""
    head, mark = FORMATS[segments.version_of(chunk.name) or ""].head, b"\t%d\t" % link_id
    return sum(head(line) == (link_id, 0) for line in chunk.lines if mark in line)


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # it is in the counter, all of it
        return 0
