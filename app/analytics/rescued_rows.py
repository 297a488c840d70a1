"""Clicks of a rescued journal, appended to the tables of this database."""

# see docs/decisions/2026-11-25-rescued-journals.md
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine

from app.analytics import rows
from app.analytics.interning import Interner
from app.analytics.offsets import Offsets, move_offset
from app.journal import reader, segments
from app.journal.codec import FORMATS
from app.journal.reader import Chunk

CHUNK_BYTES = 1024 * 1024  # a transaction of some 4,000 clicks: the ingest waits no longer than for its own


class Inserted(NamedTuple):
    """What some lines of a segment held."""

    clicks: int
    damaged: int


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
