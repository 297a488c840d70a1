"""Ingest: moves clicks from the journal into the database, each exactly once.

The worker calls `Ingest.step` in a loop. Counters are updated first, for everything that waits. Rows follow,
in transactions short enough that counters never wait long. Any number of processes may ingest at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from app.analytics import counters, rows
from app.analytics.clickhouse.client import StatisticsUnavailable
from app.analytics.clickhouse.writer import ClickHouseIngest
from app.analytics.engine import checkpoint_wal, open_engine
from app.analytics.interning import Interner
from app.analytics.lag import JournalState, hindrance_file, journal_state, size
from app.analytics.limited import LimitedVisits
from app.analytics.offsets import Moved, Offsets, move_offset, read_positions, remove_offsets
from app.core.config import Settings
from app.core.database import is_outage
from app.core.durable_files import sync_directory
from app.core.error_boundary import ErrorBoundary
from app.core.file_locks import lock_file
from app.core.tracing import tracing
from app.journal import disk_reserve, segments
from app.journal import reader as journal_reader
from app.journal.reader import Chunk

COUNTER_BYTES = 8 * 1024 * 1024  # some 30,000 clicks in a transaction, which takes well below a second
ROW_BYTES = 2 * 1024 * 1024
TEND_SECONDS = 1.0

log = logging.getLogger(__name__)


def is_no_segments_fault(error: Exception) -> bool:
    return isinstance(error, Moved | StatisticsUnavailable) or is_outage(error)


def counting_of(chunk: Chunk) -> str:
    """The error boundary's name for the counting of a segment."""
    return f"{chunk.name}, counters"


class Ingest:
    """Ingests a journal. For one thread; needs no application context."""

    def __init__(self, settings: Settings, note: Callable[[Collection[int]], None] | None = None) -> None:
        """`note` is called with the ids of the links that were counted, once that is committed."""
        self._note = note
        self._directory = segments.directory_of(settings.data_dir)
        self._engine = open_engine(settings)
        self._elsewhere = ClickHouseIngest(settings, self._engine) if settings.clickhouse_url else None
        self._limited = LimitedVisits(settings, self._engine, self._directory)
        self._terms = Interner()
        self._synced: dict[str, int] = {}
        self._tended = 0.0
        self._hindrance = hindrance_file(self._directory)
        self._waits_for = self._hindrance.read()
        self._failures = (DBAPIError, self._engine.dialect.loaded_dbapi.Error, OSError)
        # an outage holds up all segments, any other error only its own; either is reported as a hindrance
        self.errors = ErrorBoundary("ingest", is_passed=is_no_segments_fault)
        self._fault: Exception | None = None  # of this step

    def step(self) -> bool:
        """Ingests a part of what waits; returns whether there was any. Errors are reported and retried."""
        self._fault = None
        try:
            has_moved = self._count()
            has_moved |= self._append_elsewhere(self._elsewhere) if self._elsewhere else self._append_here()
            if time.monotonic() - self._tended >= TEND_SECONDS:
                self.tend()
        except self._failures as error:
            self._wait(error)
            return False
        except Moved:
            return False  # another process ingested these lines
        if self._fault is not None:
            self._wait(self._fault)
        elif not self.errors.backed_off(str):
            self._go_on()
        return has_moved

    def _append_here(self) -> bool:
        has_moved = self._append_rows()
        return self._tried("limited visits", lambda: self._limited.step(self._terms)) or has_moved

    def _append_elsewhere(self, elsewhere: ClickHouseIngest) -> bool:
        """Single clicks go to ClickHouse. While it is away, all else goes on."""
        has_moved = False
        try:
            with elsewhere.is_alone() as is_free:
                for item, insert in elsewhere.due(self.errors) if is_free else ():
                    has_moved |= self._tried(item, insert)
        except StatisticsUnavailable as error:
            self._fault = error
        return has_moved

    def tend(self) -> None:
        """Periodic tasks, not needed for every click: sync, checkpoint, removal, sweep, disk reserve."""
        self._tended = time.monotonic()
        for name, step in self.tending().items():
            self._tried(name, step)

    def tending(self) -> dict[str, Callable[[], object]]:
        return {
            "hindrance": self._hindrance.prepare,
            "sync": self.sync,
            "finished segments": lambda: remove_finished(self._engine, self._directory),
            "ingested clicks of limited links": (self._elsewhere or self._limited).remove_taken,
            "drafts": lambda: segments.sweep(self._directory, time.time()),
            "reserve": lambda: disk_reserve.keep(self._directory),
        }

    def _tried(self, name: str, step: Callable[[], object]) -> bool:
        """Runs a step and returns its result, False if it failed or is backed off. Other steps go on."""
        if not self.errors.is_backed_off(name):
            with self._attempt(name):
                return bool(step())
        return False

    @contextlib.contextmanager
    def _attempt(self, item: str) -> Iterator[None]:
        """Runs an item; its error is recorded and does not end the step."""
        with self.errors.attempt(item) as made:
            yield
        self._fault = made.error or self._fault

    def sync(self) -> None:
        """Syncs to disk what the web processes wrote since the last time; they never wait for that."""
        sizes = {name: size(self._directory / name) for name in segments.list_segments(self._directory)}
        late = [name for name, length in sizes.items() if self._synced.get(name) != length]
        for name in late:
            with self._attempt(f"{name}, sync"):
                self._sync(name)
                self._synced[name] = sizes[name]
        if late:
            sync_directory(self._directory)
        self._synced = {name: length for name, length in self._synced.items() if name in sizes}

    def status(self) -> JournalState:
        """How far behind the ingest is. (Other processes call `journal_state` with the offsets they read.)"""
        return journal_state(self._directory, read_positions(self._engine), time.time())

    def close(self) -> None:
        self._limited.close()
        if self._elsewhere is not None:
            self._elsewhere.close()
        self._engine.dispose()

    def _count(self) -> bool:
        """Counts all that waits. A segment that can't be counted does not hold up the others."""
        chunks = list(self._uncounted(read_positions(self._engine)))
        failed = self.errors.each(chunks, self._count_chunks, key=counting_of)
        self._fault = next((error for _, error in failed), self._fault)
        return len(failed) < len(chunks)

    def _count_chunks(self, chunks: Sequence[Chunk]) -> None:
        sizes = {"waypost.bytes": sum(chunk.end - chunk.start for chunk in chunks)}
        with tracing.span("ingest counters", sizes), self._engine.begin() as connection:
            counted = counters.count_chunks(connection, self._directory, chunks)
        if self._note is not None:
            self._note(counted)

    def _uncounted(self, positions: Mapping[str, Offsets]) -> Iterator[Chunk]:
        """Lines not counted yet, of the oldest segments first, as many as one transaction takes."""
        room = COUNTER_BYTES
        for name in segments.list_segments(self._directory):
            start = positions.get(name, Offsets()).counters
            if room > 0 and size(self._directory / name) > start:
                chunk = self._read(f"{name}, counters", name, start, max(room, ROW_BYTES))
                if chunk and chunk.end > start:
                    room -= chunk.end - start
                    yield chunk

    def _append_rows(self) -> bool:
        """Appends rows for lines that are counted already, from the first segment that has some."""
        for name, offsets in sorted(read_positions(self._engine).items()):
            if offsets.rows < offsets.counters:
                limit = min(ROW_BYTES, offsets.counters - offsets.rows)
                chunk = self._read(f"{name}, rows", name, offsets.rows, limit)
                if chunk and chunk.end > chunk.start:
                    with self._attempt(f"{name}, rows"):
                        self._append_chunk(chunk)
                        return True
        return False

    def _read(self, item: str, name: str, start: int, limit: int) -> Chunk | None:
        """Lines of a segment; None if there are none, or if it can't be read now."""
        reads = f"{item}, reading"
        if not self.errors.is_backed_off(item) and not self.errors.is_backed_off(reads):
            with self._attempt(reads):
                return journal_reader.read(self._directory, name, start, limit)
        return None

    def _append_chunk(self, chunk: Chunk) -> None:
        with tracing.span("ingest clicks", {"waypost.bytes": chunk.end - chunk.start}) as span:
            visits = [visit for visit in journal_reader.decode_lines(self.errors, chunk) if visit]
            span.note({"waypost.clicks": len(visits)})
            with self._engine.begin() as connection:
                move_offset(connection, chunk.name, "rows_offset", chunk.start, chunk.end)
                rows.append_clicks(connection, self._terms, visits)
            self._terms.keep()

    def _sync(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), (self._directory / name).open("rb") as file:
            os.fdatasync(file.fileno())

    def _wait(self, error: Exception) -> None:
        """Reports what holds up the ingest, once: in the log, and in a file that any process can read."""
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        if reason != self._waits_for:
            log.warning("Clicks wait in the journal: %s", reason)
            self._say(reason)

    def _go_on(self) -> None:
        if self._waits_for:
            log.info("Clicks are ingested again")
            self._say("")

    def _say(self, reason: str) -> None:
        self._waits_for = reason
        try:
            self._hindrance.change(lambda _before: reason)
        except OSError:
            log.warning("The reason why clicks wait can't be stored", exc_info=True)


errors = ErrorBoundary("finished segments")


def remove_finished(engine: Engine, directory: Path) -> list[str]:
    """Checkpoints, then removes finished segments; returns their names."""
    with lock_file(directory / "checkpoint.lock") as is_free:  # two checkpoints at once can harm a WAL
        finished = finished_segments(directory, read_positions(engine))
        if not is_free or not checkpoint_wal(engine) or not finished:
            return []
    with segments.removal_lock(directory) as is_free:
        if not is_free:  # a backup is under way
            return []
        removed = [name for name in finished if errors.run(name, remove_segment, directory / name)]
        # the file's removal is durable before its offsets go: else a power cut could count it again
        sync_directory(directory)
        remove_offsets(engine, removed)
    return removed


def remove_segment(path: Path) -> bool:
    path.unlink(missing_ok=True)
    return True


def finished_segments(directory: Path, positions: Mapping[str, Offsets]) -> list[str]:
    return [
        name
        for name in segments.list_segments(directory)
        if errors.run(f"{name}, its state", is_finished, directory / name, positions.get(name))
    ]


def is_finished(path: Path, offsets: Offsets | None) -> bool:
    counters, rows = offsets or Offsets()
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        return rows == counters and segments.is_abandoned(file.fileno()) and size_of(file.fileno()) <= rows
    return False


def size_of(fd: int) -> int:
    return os.fstat(fd).st_size
