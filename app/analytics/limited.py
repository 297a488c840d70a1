"""Ingest of clicks on links with a click limit, each exactly once.

These are first written to a table of the main database, and no transaction spans both databases. So the ids
of ingested clicks are stored with the clicks, in the same transaction, until the source rows are deleted.
Each step compares and swaps the state that it has read (`GENERATION`), so a step that was overtaken by
another process rolls back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from sqlalchemy import Engine, Table, delete, insert, select
from sqlalchemy.engine import Connection

from app.analytics import counters, rows
from app.analytics import engine as clicks_engine
from app.analytics.interning import Interner
from app.analytics.models import IngestedLimitedClick, Position
from app.analytics.offsets import Offset, insert_into, move_offset
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.file_locks import lock_file
from app.journal import segments
from app.journal.codec import FORMATS, Visit
from app.redirects.limits import open_engine
from app.redirects.models import LimitedVisit

SOURCE = "limited"  # its name among the offsets: no segment has it
GENERATION: Offset = "rows_offset"
BATCH_SIZE = 2000

VISITS = cast("Table", LimitedVisit.__table__)
TAKEN = cast("Table", IngestedLimitedClick.__table__)
POSITIONS = cast("Table", Position.__table__)

State = tuple[int, frozenset[int]]  # the generation, and the ids that are ingested


class LimitedVisits:
    """Another source of the ingest. It updates no counters: these clicks are counted in the main database."""

    def __init__(self, settings: Settings, clicks: Engine, directory: Path) -> None:
        self._clicks = clicks
        self._directory = directory
        self._main = open_engine(settings)
        self._errors = ErrorBoundary("limited visits")

    def step(self, terms: Interner) -> bool:
        """Ingests a batch; returns whether there were any. Raises Moved if another process was first."""
        if not self.is_waiting():
            return False
        generation, taken = self._state()  # before the rows, or the swap would not prove that these are new
        found = self._waiting(taken)
        if found:
            with self._clicks.begin() as connection:
                advance_generation(connection, generation)
                connection.execute(insert(TAKEN), [{"id": id_} for id_ in found])
                visits = [visit for visit in found.values() if visit]
                counters.add_damaged(connection, len(found) - len(visits))
                rows.append_clicks(connection, terms, visits)
            terms.keep()
        return bool(found)

    def is_waiting(self) -> bool:
        with self._main.connect() as main:
            return main.execute(select(VISITS.c.id).limit(1)).first() is not None

    def remove_taken(self) -> None:
        """Deletes ingested source rows, once the clicks are durable."""
        taken = self._state()[1]
        if not taken or not self._is_on_disk():
            return
        with segments.removal_lock(self._directory) as is_free:
            if is_free:  # else a backup is under way
                self._delete(sorted(taken))

    def close(self) -> None:
        self._main.dispose()

    def _is_on_disk(self) -> bool:
        with lock_file(self._directory / "checkpoint.lock") as is_free:
            return is_free and clicks_engine.checkpoint_wal(self._clicks)

    def _delete(self, taken: Sequence[int]) -> None:
        """Deletes the source rows, then swaps: a stale ingester that still holds the rows fails its swap."""
        for start in range(0, len(taken), BATCH_SIZE):
            some = taken[start : start + BATCH_SIZE]
            with self._main.execution_options(sqlite_begin="IMMEDIATE").begin() as main:
                main.execute(delete(VISITS).where(VISITS.c.id.in_(some)))
            with self._clicks.begin() as connection:
                advance_generation(connection, generation_of(connection))
                connection.execute(delete(TAKEN).where(TAKEN.c.id.in_(some)))

    def _state(self) -> State:
        with self._clicks.connect().execution_options(reads=True) as connection:
            # in this order, because on PostgreSQL each statement may see a newer state
            return generation_of(connection), frozenset(connection.scalars(select(TAKEN.c.id)))

    def _waiting(self, taken: frozenset[int]) -> dict[int, Visit | None]:
        """The oldest clicks that are not ingested yet, by id; None for a damaged one."""
        known = VISITS.c.version.in_(FORMATS)  # rows of a newer format wait for a newer version
        with self._main.connect() as main:
            oldest = select(VISITS.c.id).where(known).order_by(VISITS.c.id).limit(BATCH_SIZE + len(taken))
            new = [id_ for id_ in main.scalars(oldest) if id_ not in taken][:BATCH_SIZE]
        return self.visits_of(new)

    def visits_of(self, ids: Sequence[int]) -> dict[int, Visit | None]:
        """The clicks of these rows, by id; None for a damaged one."""
        with self._main.connect() as main:
            found = main.execute(select(VISITS).where(VISITS.c.id.in_(ids)).order_by(VISITS.c.id)).all()
        visits: dict[int, Visit | None] = {}
        for row in found:
            visits[row.id] = None
            with self._errors.attempt():
                visits[row.id] = FORMATS[row.version].decode(bytes(row.line).strip(b"\n"))
        return visits


def generation_of(connection: Connection) -> int:
    """How often this source has changed; 0 before the first time."""
    return connection.scalar(select(POSITIONS.c[GENERATION]).where(POSITIONS.c.name == SOURCE)) or 0


def advance_generation(connection: Connection, generation: int) -> None:
    """Adds one to the generation. Raises Moved if it is not `generation` any more."""
    first = {"name": SOURCE, "counters_offset": 0, "rows_offset": 0}
    connection.execute(insert_into(connection, POSITIONS).values(first).on_conflict_do_nothing())
    move_offset(connection, SOURCE, GENERATION, generation, generation + 1)
