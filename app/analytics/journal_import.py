"""Import of a rescued journal: takes the clicks of another machine's journal in, each exactly once.

Segments are read where they are, and stay there. Their offsets are those that the machine itself moved, and
go on from there; they stay for a second import, and for the machine, which may come back or never have been
down. The end of a file is not taken for its segment's end: a copy may be older than the original. A segment
without offsets was either never begun or finished before; the record of finished segments tells these apart.
"""

# see docs/decisions/2026-11-25-rescued-journals.md
from __future__ import annotations

import time
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine, event, select
from sqlalchemy.engine import Connection
from sqlalchemy.pool import ConnectionPoolEntry

from app.analytics import rows
from app.analytics.clickhouse.writer import RescuedBatches
from app.analytics.counters import count_begun
from app.analytics.engine import open_engine
from app.analytics.interning import Interner
from app.analytics.lag import size
from app.analytics.offsets import (
    FINISHED,
    POSITIONS,
    RECORD_NS,
    RECORDED_SINCE,
    Inserted,
    Moved,
    Offsets,
    begun_at,
    insert_into,
    move_offset,
)
from app.core.config import Settings
from app.core.postgresql import psycopg
from app.journal import reader, segments
from app.journal.codec import FORMATS
from app.journal.reader import Chunk

CHUNK_BYTES = 1024 * 1024  # a transaction of some 4,000 clicks: the ingest waits no longer than for its own
BUSY_MS = 30_000  # a busy worker holds the lock again and again
SKEW_NS = 24 * 3600 * 10**9  # clocks of machines may differ


class RescuedRows:
    """The rows of the segments of one directory. With ClickHouse, `RescuedBatches` stands in its place."""

    chunk_bytes = CHUNK_BYTES

    def __init__(self, engine: Engine, directory: Path) -> None:
        self._engine, self._directory = engine, directory
        self._terms = Interner()

    def prepare(self) -> None:
        """Nothing: migrations make the tables."""

    def is_cut(self, _name: str) -> bool:
        """Never: what is read and what is appended move in one transaction."""
        return False

    def insert(self, name: str, offsets: Offsets) -> Inserted | None:
        """Appends the next lines of a segment; None where there are none. Raises Moved."""
        limit = min(CHUNK_BYTES, offsets.counters - offsets.rows)
        chunk = read_copy(self._directory, name, offsets.rows, limit)
        if chunk is None:
            return None
        decode = FORMATS[segments.version_of(chunk.name) or ""].decode
        visits = [visit for visit in map(decode, chunk.lines) if visit]
        with self._engine.begin() as connection:
            move_offset(connection, chunk.name, "rows_offset", chunk.start, chunk.end)
            rows.append_clicks(connection, self._terms, visits)
        self._terms.keep()
        return Inserted(len(visits), len(chunk.lines) - len(visits))


def read_copy(directory: Path, name: str, start: int, limit: int) -> Chunk | None:
    """Whole lines of a segment to which nobody writes; None where there are no more."""
    chunk = reader.read(directory, name, start, limit, is_copy=True)
    return chunk if chunk is not None and chunk.end > start else None


class Skipped(Enum):
    """Why nothing of a segment is taken in."""

    COUNTED = "counted before"
    OLD = "too old to tell whether they were counted"
    UNKNOWN = "of a version that this one can't read"
    CUT = "older than what its machine has begun to insert"


class SegmentImport(NamedTuple):
    """What was taken in of one segment. `tail`: bytes of a last line that was never finished."""

    clicks: int
    damaged: int
    tail: int


class ImportReport(NamedTuple):
    """What an import has done, by segment."""

    taken: dict[str, SegmentImport]
    skipped: dict[str, Skipped]

    @property
    def clicks(self) -> int:
        return sum(each.clicks for each in self.taken.values())

    @property
    def damaged(self) -> int:
        return sum(each.damaged for each in self.taken.values())

    def count_skipped(self) -> Counter[Skipped]:
        return Counter(self.skipped.values())


class JournalImport:
    """Import of the segments of one directory. Any number may run at once, beside any number of workers."""

    def __init__(self, settings: Settings, directory: Path, *, takes_old: bool = False) -> None:
        self._directory, self._takes_old = directory, takes_old
        self._engine = open_engine(settings)
        event.listen(self._engine, "connect", wait_longer)
        self._store: RescuedBatches | RescuedRows = (
            RescuedBatches(settings, self._engine, directory)
            if settings.clickhouse_url
            else RescuedRows(self._engine, directory)
        )

    def run(self) -> ImportReport:
        """Takes in all that is there. Raises an error of the database, or StatisticsUnavailable; a second
        run goes on."""
        self._store.prepare()
        taken: dict[str, SegmentImport] = {}
        skipped: dict[str, Skipped] = {}
        for name in segments.list_segments(self._directory):
            reason = self._refusal(name)
            if reason is None:
                taken[name] = self._take(name)
            else:
                skipped[name] = reason
        for name in segments.list_unknown_segments(self._directory):
            skipped[name] = Skipped.UNKNOWN
        return ImportReport(taken, skipped)

    def close(self) -> None:
        self._engine.dispose()

    def _refusal(self, name: str) -> Skipped | None:
        with self._engine.connect().execution_options(reads=True) as connection:
            if offsets_of(connection, name) is not None:
                return Skipped.CUT if self._store.is_cut(name) else None
            if is_finished(connection, name):
                return Skipped.COUNTED
            is_known = self._takes_old or begun_at(name) >= known_since(connection, time.time_ns())
            return None if is_known else Skipped.OLD

    def _take(self, name: str) -> SegmentImport:
        clicks = damaged = 0
        while True:
            try:
                moved = self._step(name)
            except Moved:  # by the machine itself, or by another import: go on from where that is
                if self._refusal(name) is not None:  # the machine has finished it meanwhile
                    return SegmentImport(clicks, damaged, 0)
                continue
            if moved is None:
                break
            clicks, damaged = clicks + moved.clicks, damaged + moved.damaged
        with self._engine.connect().execution_options(reads=True) as connection:
            end = (offsets_of(connection, name) or Offsets()).counters
        return SegmentImport(clicks, damaged, max(0, size(self._directory / name) - end))

    def _step(self, name: str) -> Inserted | None:
        """Takes in some lines, and returns what has rows now; None at the end."""
        with self._engine.connect().execution_options(reads=True) as connection:
            offsets = offsets_of(connection, name)
        counted, appended = offsets or Offsets()
        if appended < counted:
            inserted = self._store.insert(name, Offsets(counted, appended))
            if inserted is not None:
                return inserted
        chunk = read_copy(self._directory, name, counted, self._store.chunk_bytes)
        if chunk is None:
            return None
        with self._engine.begin() as connection:
            if offsets is None:
                begin_unfinished(connection, name)
            count_begun(connection, [chunk])
        return Inserted(0, 0)


def offsets_of(connection: Connection, name: str) -> Offsets | None:
    found = connection.execute(select(POSITIONS).where(POSITIONS.c.name == name)).first()
    return Offsets(found.counters_offset, found.rows_offset) if found else None


def is_finished(connection: Connection, name: str) -> bool:
    return connection.scalar(select(FINISHED.c.name).where(FINISHED.c.name == name)) is not None


def known_since(connection: Connection, now: int) -> int:
    """Of segments that were begun since then, every finished one is recorded. In nanoseconds since 1970."""
    since = connection.scalar(select(FINISHED.c.nanoseconds).where(FINISHED.c.name == RECORDED_SINCE))
    begun = now if since is None else since and since + SKEW_NS
    return max(begun, now - RECORD_NS + SKEW_NS)


def begin_unfinished(connection: Connection, name: str) -> None:
    """Creates a segment's offsets at zero. Raises Moved if it has some, or has been finished.

    A machine that finishes it removes its offsets and records its name in one transaction. If this call could
    insert offsets after that, the record is seen by the statement that follows.
    """
    row = {"name": name, "counters_offset": 0, "rows_offset": 0}
    begun = insert_into(connection, POSITIONS).values(row).on_conflict_do_nothing()
    is_ours = connection.execute(begun.returning(POSITIONS.c.name)).first() is not None
    if not is_ours or is_finished(connection, name):
        raise Moved(name)


def wait_longer(connection: Any, _entry: ConnectionPoolEntry) -> None:
    """Waits for the worker of this instance, which writes all the time."""
    if isinstance(connection, psycopg.Connection):
        connection.execute(f"SET lock_timeout = {BUSY_MS:d}")
        connection.commit()
    else:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS:d}")
