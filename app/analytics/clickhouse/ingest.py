"""Ingest into ClickHouse: moves clicks that are counted from the journal into the table of single clicks.

Counters and positions stay in the SQL database. Each batch is inserted exactly once (see `intents`). One
process of a machine inserts at a time: it holds a lock, so that none that was stopped for long inserts what
others did.
"""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import Engine

from app.analytics.clickhouse.client import ClickHouse, clickhouse_of
from app.analytics.clickhouse.counting import Counting
from app.analytics.clickhouse.intents import Intent, find_intent, note_intent, remove_intent
from app.analytics.clickhouse.limited import LimitedToClickHouse
from app.analytics.clickhouse.rows import insert_clicks, note_entries
from app.analytics.clickhouse.schema import make_tables
from app.analytics.offsets import Offsets, move_offset, read_positions
from app.analytics.periods import DAY_MS
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.file_locks import lock_file
from app.core.tracing import tracing
from app.journal import reader as journal_reader
from app.journal.reader import Chunk
from app.journal.segments import directory_of

BATCH_BYTES = 8 * 1024 * 1024  # some 30,000 clicks
REST_SECONDS = 1.0  # between inserts of a segment that has less: each makes a part, which has to be merged
RETRY_SECONDS, LONGEST_RETRY = 1.0, 10.0
LOCK = "clickhouse.lock"
TABLES = "tables"


class ClickHouseIngest:
    """Appends rows for lines that are counted already. `fault` is the error of the last step."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self.server: ClickHouse = clickhouse_of(settings.clickhouse_url or "")
        self.fault: Exception | None = None
        self._directory: Path = directory_of(settings.data_dir)
        self._engine, self._retention = engine, settings.click_retention_days
        self._limited = LimitedToClickHouse(settings, engine, self._directory, self.server)
        self._has_tables = False
        self._inserted: dict[str, float] = {}  # when each segment was inserted from last
        self._errors = ErrorBoundary("clickhouse", first_seconds=RETRY_SECONDS, max_seconds=LONGEST_RETRY)

    def step(self) -> bool:
        """Inserts a batch of each segment that has enough; returns whether there was any."""
        self.fault = None
        if self._errors.is_backed_off(TABLES):
            return False
        with self._attempt(TABLES), lock_file(self._directory / LOCK) as is_free:
            return is_free and self._step()
        return False

    @property
    def waits(self) -> bool:
        """Whether something failed and is to be tried again."""
        return bool(self._errors.backed_off(str))

    def remove_taken(self) -> None:
        self._limited.remove_taken()

    def close(self) -> None:
        self._limited.close()

    def _attempt(self, item: str) -> Attempted:
        return Attempted(self, self._errors, item)

    def _step(self) -> bool:
        if not self._has_tables:
            make_tables(self.server)
            self._has_tables = True
        positions = read_positions(self._engine)
        self._inserted = {name: when for name, when in self._inserted.items() if name in positions}
        has_moved = False
        for name, offsets in sorted(positions.items()):
            if self._is_due(name, offsets) and not self._errors.is_backed_off(name):
                with self._attempt(name):
                    has_moved |= self._append(name, offsets)
        if not self._errors.is_backed_off("limited"):
            with self._attempt("limited"):
                has_moved |= self._limited.step_with(self._retention)
        return has_moved

    def _is_due(self, name: str, offsets: Offsets) -> bool:
        waiting = offsets.counters - offsets.rows
        rested = time.monotonic() - self._inserted.get(name, 0.0) >= REST_SECONDS
        return waiting > 0 and (rested or waiting >= BATCH_BYTES)

    def _append(self, name: str, offsets: Offsets) -> bool:
        found = self._intended(name, offsets)
        if found is None:
            return False
        intent, chunk = found
        with tracing.span("ingest clicks", {"waypost.bytes": intent.end - intent.start}) as span:
            visits = [visit for visit in journal_reader.decode_lines(self._errors, chunk) if visit]
            span.note({"waypost.clicks": len(visits)})
            removed = Counting(self.server).pruned
            insert_clicks(self.server, intent.token, visits, intent.day, removed, self._retention)
            with self._engine.begin() as connection:
                move_offset(connection, name, "rows_offset", intent.start, intent.end)
                remove_intent(connection, intent)
                note_entries(connection, intent.token, visits)
        self._inserted[name] = time.monotonic()
        return True

    def _intended(self, name: str, offsets: Offsets) -> tuple[Intent, Chunk] | None:
        """The next batch: the one that was noted before, if there is one, else a new one. None without"
        " lines."""
        with self._engine.connect().execution_options(reads=True) as connection:
            intent = find_intent(connection, name)
        limit = intent.end - intent.start if intent else min(BATCH_BYTES, offsets.counters - offsets.rows)
        chunk = journal_reader.read(self._directory, name, offsets.rows, limit)
        if chunk is None or chunk.end <= chunk.start:
            return None
        if intent is None:
            intent = Intent(name, int(time.time() * 1000) // DAY_MS, chunk.start, chunk.end)
            with self._engine.begin() as connection:
                note_intent(connection, intent)
        if (chunk.start, chunk.end) != (intent.start, intent.end):
            raise OSError(f"{name} has other lines than those noted to be inserted")
        return intent, chunk


class Attempted:
    """Runs an item of the ingest in its error boundary, and keeps its error."""

    def __init__(self, ingest: ClickHouseIngest, errors: ErrorBoundary, item: str) -> None:
        self._ingest, self._attempt = ingest, errors.attempt(item)

    def __enter__(self) -> None:
        self._made = self._attempt.__enter__()

    def __exit__(self, *error: object) -> bool:
        is_caught = bool(self._attempt.__exit__(*error))  # type: ignore[arg-type]
        self._ingest.fault = self._made.error or self._ingest.fault
        return is_caught
