"""Batches of a segment's lines, each inserted into ClickHouse exactly once.

The worker inserts those of its own machine's journal, `journal import` those of a rescued one. Both note what
they are about to insert (see `intents`), so either goes on with a batch that the other has begun.
"""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import Engine

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.intents import Intent, find_intent, note_intent, remove_intent
from app.analytics.clickhouse.rows import insert_clicks, note_entries
from app.analytics.clickhouse.shelves import removed_shelves
from app.analytics.lag import size
from app.analytics.offsets import Moved, Offsets, move_offset
from app.analytics.periods import DAY_MS
from app.analytics.rescued_rows import Inserted
from app.core.error_boundary import ErrorBoundary
from app.core.tracing import tracing
from app.journal import reader as journal_reader
from app.journal.reader import Chunk


class SegmentBatches:
    """The batches of the segments of one directory. `is_copy`: nobody writes there (see `reader.read`)."""

    def __init__(
        self, server: ClickHouse, engine: Engine, directory: Path, retention: int, *, is_copy: bool = False
    ) -> None:
        self._server, self._engine, self._directory = server, engine, directory
        self._retention, self._is_copy = retention, is_copy

    def insert(self, errors: ErrorBoundary, name: str, offsets: Offsets, limit: int) -> Inserted | None:
        """Inserts the next batch, of `limit` bytes at most; None where there is none.

        Raises Moved where another process has inserted it.
        """
        found = self._intended(name, offsets, limit)
        if found is None:
            return None
        intent, chunk = found
        with tracing.span("ingest clicks", {"waypost.bytes": intent.end - intent.start}) as span:
            visits = [visit for visit in journal_reader.decode_lines(errors, chunk) if visit]
            span.note({"waypost.clicks": len(visits)})
            removed = removed_shelves(self._server)
            insert_clicks(self._server, intent.token, visits, intent.day, removed, self._retention)
            with self._engine.begin() as connection:
                move_offset(connection, name, "rows_offset", intent.start, intent.end)
                remove_intent(connection, intent)
                note_entries(connection, intent.token, visits)
        return Inserted(len(visits), len(chunk.lines) - len(visits))

    def is_cut(self, name: str) -> bool:
        """Whether a batch was begun whose end the file does not have, as an older copy."""
        intent = self._find_intent(name)
        return intent is not None and size(self._directory / name) < intent.end

    def _intended(self, name: str, offsets: Offsets, limit: int) -> tuple[Intent, Chunk] | None:
        """The next batch: the one that was noted before, if there is one, else a new one. None if there are
        no lines."""
        intent = self._find_intent(name)
        room = intent.end - intent.start if intent else min(limit, offsets.counters - offsets.rows)
        chunk = journal_reader.read(self._directory, name, offsets.rows, room, is_copy=self._is_copy)
        if chunk is None or (intent is None and chunk.end <= chunk.start):
            return None
        if intent is None:
            intent = Intent(name, int(time.time() * 1000) // DAY_MS, chunk.start, chunk.end)
            self._note(intent)
        elif chunk.start != intent.start or size(self._directory / name) < intent.end:
            if self._is_copy:  # its machine is alive, and further than the copy
                raise Moved(name)
            raise OSError(f"{name} has other lines than those noted to be inserted")
        return intent, chunk

    def _find_intent(self, name: str) -> Intent | None:
        with self._engine.connect().execution_options(reads=True) as connection:
            return find_intent(connection, name)

    def _note(self, intent: Intent) -> None:
        """Notes a batch. Holds the offset's row meanwhile, or two processes might note two that overlap."""
        with self._engine.begin() as connection:
            move_offset(connection, intent.source, "rows_offset", intent.start, intent.start)
            if find_intent(connection, intent.source) is not None:
                raise Moved(intent.source)
            note_intent(connection, intent)
