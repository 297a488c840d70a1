"""Clicks of a rescued journal, inserted into ClickHouse. The worker of this machine waits for each batch."""

# see docs/decisions/2026-11-25-rescued-journals.md
from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine

from app.analytics.clickhouse.client import clickhouse_of
from app.analytics.clickhouse.ingest import BATCH_BYTES, LOCK
from app.analytics.clickhouse.schema import make_tables
from app.analytics.clickhouse.segment_batches import SegmentBatches
from app.analytics.offsets import Offsets
from app.analytics.rescued_rows import Inserted
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.file_locks import wait_for_lock
from app.journal.segments import directory_of


class RescuedBatches:
    """The batches of a directory of segments. Every method raises StatisticsUnavailable without an answer."""

    chunk_bytes = BATCH_BYTES

    def __init__(self, settings: Settings, engine: Engine, directory: Path) -> None:
        self._server = clickhouse_of(settings.clickhouse_url or "")
        self._lock = directory_of(settings.data_dir) / LOCK
        days = settings.click_retention_days
        self._batches = SegmentBatches(self._server, engine, directory, days, is_copy=True)
        self._errors = ErrorBoundary("journal import")

    def prepare(self) -> None:
        make_tables(self._server)

    def insert(self, name: str, offsets: Offsets) -> Inserted | None:
        """Inserts the next batch of a segment; None where there is none. Raises Moved."""
        with wait_for_lock(self._lock):  # one process of a machine inserts at a time
            return self._batches.insert(self._errors, name, offsets, BATCH_BYTES)

    def is_cut(self, name: str) -> bool:
        """Whether its machine has begun a batch whose end the file here does not have."""
        return self._batches.is_cut(name)
