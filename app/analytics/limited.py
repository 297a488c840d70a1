"""How do visits of limited links get from the table they were written to into the clicks, each exactly once?

Two databases and no transaction over both. So the ids of what was taken in are kept beside the clicks, in the
same transaction, until the rows are deleted where they came from; and each step names the state that it has
read (`GENERATION`, moved by compare-and-swap), so that one that is overtaken comes to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from sqlalchemy import Engine, Table, delete, insert, select
from sqlalchemy.engine import Connection

from app.clicks import counting, rows
from app.clicks import engine as clicks_engine
from app.clicks.models import Position, Taken
from app.clicks.positions import Offset, insert_into, move
from app.clicks.terms import Terms
from app.config import Settings
from app.error_boundary import ErrorBoundary
from app.journal import segments
from app.journal.record import FORMATS, Visit
from app.visits.limits import open_engine
from app.visits.models import LimitedVisit

SOURCE = "limited"  # among the positions: no segment is named so
GENERATION: Offset = "rows_offset"
AT_ONCE = 2000

VISITS = cast("Table", LimitedVisit.__table__)
TAKEN = cast("Table", Taken.__table__)
POSITIONS = cast("Table", Position.__table__)

State = tuple[int, frozenset[int]]  # the generation, and what is taken


class LimitedVisits:
    """One more source for the ingest. It feeds no counter: these visits are counted where they come from."""

    def __init__(self, settings: Settings, clicks: Engine, directory: Path) -> None:
        self._clicks = clicks
        self._directory = directory
        self._main = open_engine(settings)
        self._errors = ErrorBoundary("limited visits")

    def step(self, terms: Terms) -> bool:
        """Take in some; whether there were any. Raises Moved where another process was first."""
        with self._main.connect() as main:
            if main.execute(select(VISITS.c.id).limit(1)).first() is None:
                return False
        generation, taken = self._state()  # before the rows: only so does the swap prove that they are new
        found = self._waiting(taken)
        if found:
            with self._clicks.begin() as connection:
                advance(connection, generation)
                connection.execute(insert(TAKEN), [{"id": id_} for id_ in found])
                visits = [visit for visit in found.values() if visit]
                counting.add_damaged(connection, len(found) - len(visits))
                rows.append(connection, terms, visits)
            terms.keep()
        return bool(found)

    def remove_taken(self) -> None:
        """Delete what was taken in, once that is on disk for good."""
        taken = self._state()[1]
        if not taken or not self._is_on_disk():
            return
        with segments.removal_lock(self._directory) as is_free:
            if is_free:  # else a backup is under way
                self._delete(sorted(taken))

    def close(self) -> None:
        self._main.dispose()

    def _is_on_disk(self) -> bool:
        with segments.lock(self._directory / "checkpoint.lock") as is_free:
            return is_free and clicks_engine.checkpoint(self._clicks)

    def _delete(self, taken: Sequence[int]) -> None:
        """There first, and then the swap: whoever still holds the rows from before comes to nothing."""
        for start in range(0, len(taken), AT_ONCE):
            some = taken[start : start + AT_ONCE]
            with self._main.execution_options(sqlite_begin="IMMEDIATE").begin() as main:
                main.execute(delete(VISITS).where(VISITS.c.id.in_(some)))
            with self._clicks.begin() as connection:
                advance(connection, generation_of(connection))
                connection.execute(delete(TAKEN).where(TAKEN.c.id.in_(some)))

    def _state(self) -> State:
        with self._clicks.connect().execution_options(reads=True) as connection:
            # in this order, also where each statement sees a moment of its own
            return generation_of(connection), frozenset(connection.scalars(select(TAKEN.c.id)))

    def _waiting(self, taken: frozenset[int]) -> dict[int, Visit | None]:
        """The oldest that are not taken in yet, by id; None for one that is damaged."""
        known = VISITS.c.version.in_(FORMATS)  # what a newer version wrote waits for a newer version
        with self._main.connect() as main:
            oldest = select(VISITS.c.id).where(known).order_by(VISITS.c.id).limit(AT_ONCE + len(taken))
            new = [id_ for id_ in main.scalars(oldest) if id_ not in taken][:AT_ONCE]
            found = main.execute(select(VISITS).where(VISITS.c.id.in_(new)).order_by(VISITS.c.id)).all()
        visits: dict[int, Visit | None] = {}
        for row in found:
            visits[row.id] = None
            with self._errors.attempt():
                visits[row.id] = FORMATS[row.version].decode(bytes(row.line).strip(b"\n"))
        return visits


def generation_of(connection: Connection) -> int:
    """How often this source has changed; 0 before the first time."""
    return connection.scalar(select(POSITIONS.c[GENERATION]).where(POSITIONS.c.name == SOURCE)) or 0


def advance(connection: Connection, generation: int) -> None:
    """Raises Moved if it is not the generation any more."""
    first = {"name": SOURCE, "counters_offset": 0, "rows_offset": 0}
    connection.execute(insert_into(connection, POSITIONS).values(first).on_conflict_do_nothing())
    move(connection, SOURCE, GENERATION, generation, generation + 1)
