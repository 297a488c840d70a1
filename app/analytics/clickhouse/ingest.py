"""Ingest into ClickHouse: moves clicks that are counted from the journal into the table of single clicks.

Counters and positions stay in the SQL database. Each batch is inserted exactly once (see `segment_batches`).
One process of a machine inserts at a time: it holds a lock, so that none that was stopped for long inserts
what others did.
"""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import Engine

from app.analytics.clickhouse.client import ClickHouse, clickhouse_of
from app.analytics.clickhouse.limited import LimitedToClickHouse
from app.analytics.clickhouse.schema import make_tables
from app.analytics.clickhouse.segment_batches import SegmentBatches
from app.analytics.offsets import Moved, Offsets, read_positions
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.file_locks import lock_file
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
        self._batches = SegmentBatches(self.server, engine, self._directory, settings.click_retention_days)
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
        try:
            inserted = self._batches.insert(self._errors, name, offsets, BATCH_BYTES)
        except Moved:  # by an import of this journal on another machine: the next step goes on from there
            return False
        if inserted is not None:
            self._inserted[name] = time.monotonic()
        return inserted is not None


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
