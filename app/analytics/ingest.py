"""How do visits get from the journal into the database, each exactly once?

The worker calls `Ingest.step` again and again. Counters come first and for all that waits, rows after them
in transactions short enough that counters never wait long. Any number of processes may do this at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlalchemy.exc import DBAPIError

from app.clicks import backfill, counting, rows
from app.clicks.engine import open_engine
from app.clicks.lag import JournalState, hindrance, journal_state, size
from app.clicks.limited import LimitedVisits
from app.clicks.positions import Moved, Offsets, move, read_positions
from app.clicks.removal import remove_finished
from app.clicks.terms import Terms
from app.config import Settings
from app.database import is_outage
from app.error_boundary import ErrorBoundary
from app.journal import reading, reserve, segments
from app.journal.reading import Chunk
from app.journal.record import FORMATS, Visit

COUNTER_BYTES = 8 * 1024 * 1024  # some 30,000 visits in a transaction, well below a second
ROW_BYTES = 2 * 1024 * 1024
TEND_SECONDS = 1.0

log = logging.getLogger(__name__)


def is_no_segments_fault(error: Exception) -> bool:
    return isinstance(error, Moved) or is_outage(error)


def counting_of(chunk: Chunk) -> str:
    """The name of a segment's counting among the items of the loop."""
    return f"{chunk.name}, counters"


class Ingest:
    """Takes a journal in. For one thread; needs no web application around it."""

    def __init__(self, settings: Settings) -> None:
        self._directory = segments.directory_of(settings.data_dir)
        self._engine = open_engine(settings)
        self._limited = LimitedVisits(settings, self._engine, self._directory)
        self._terms = Terms()
        self._synced: dict[str, int] = {}
        self._tended = 0.0
        self._hindrance = hindrance(self._directory)
        self._waits_for = self._hindrance.read()
        self._failures = (DBAPIError, self._engine.dialect.loaded_dbapi.Error, OSError)
        # what no segment is to blame for holds up all of them; either is said as a hindrance
        self.errors = ErrorBoundary("ingest", is_passed=is_no_segments_fault)
        self._fault: Exception | None = None  # of this step

    def step(self) -> bool:
        """Take in some of what waits; whether there was any. What holds it up is said, and tried again."""
        self._fault = None
        try:
            has_moved = self._count()
            has_moved |= self._append_rows()
            has_moved |= self._tried("limited visits", lambda: self._limited.step(self._terms))
            has_moved = has_moved or self._tried(
                "old visits", lambda: backfill.step(self._engine, self._terms)
            )
            if time.monotonic() - self._tended >= TEND_SECONDS:
                self.tend()
        except self._failures as error:
            self._wait(error)
            return False
        except Moved:
            return False  # another process took these lines in
        if self._fault is not None:
            self._wait(self._fault)
        elif not self.errors.backed_off(str):
            self._go_on()
        return has_moved

    def tend(self) -> None:
        """What need not be done for every visit: sync, checkpoint, remove, sweep, keep a reserve."""
        self._tended = time.monotonic()
        for name, step in self.tending().items():
            self._tried(name, step)

    def tending(self) -> dict[str, Callable[[], object]]:
        return {
            "hindrance": self._hindrance.prepare,
            "sync": self.sync,
            "finished segments": lambda: remove_finished(self._engine, self._directory),
            "limited visits that were taken in": self._limited.remove_taken,
            "drafts": lambda: segments.sweep(self._directory, time.time()),
            "reserve": lambda: reserve.keep(self._directory),
        }

    def _tried(self, name: str, step: Callable[[], object]) -> bool:
        """What a step says, False where it failed; the others go on meanwhile."""
        if not self.errors.is_backed_off(name):
            with self._attempt(name):
                return bool(step())
        return False

    @contextlib.contextmanager
    def _attempt(self, item: str) -> Iterator[None]:
        """Run an item; its error is said, and ends no step."""
        with self.errors.attempt(item) as made:
            yield
        self._fault = made.error or self._fault

    def sync(self) -> None:
        """Bring to disk what the web processes wrote since the last time; they never wait for that."""
        sizes = {name: size(self._directory / name) for name in segments.listed(self._directory)}
        late = [name for name, length in sizes.items() if self._synced.get(name) != length]
        for name in late:
            with self._attempt(f"{name}, sync"):
                self._sync(name)
                self._synced[name] = sizes[name]
        if late:
            segments.sync_directory(self._directory)
        self._synced = {name: length for name, length in self._synced.items() if name in sizes}

    def status(self) -> JournalState:
        """How far behind this is. (Another process asks `journal_state` with the positions it reads.)"""
        return journal_state(self._directory, read_positions(self._engine), time.time())

    def close(self) -> None:
        self._limited.close()
        self._engine.dispose()

    def _count(self) -> bool:
        """Counters of all that waits. A segment that can't be counted waits alone."""
        chunks = list(self._uncounted(read_positions(self._engine)))
        failed = self.errors.each(chunks, self._count_chunks, key=counting_of)
        self._fault = next((error for _, error in failed), self._fault)
        return len(failed) < len(chunks)

    def _count_chunks(self, chunks: Sequence[Chunk]) -> None:
        with self._engine.begin() as connection:
            counting.count(connection, self._directory, chunks)

    def _uncounted(self, positions: Mapping[str, Offsets]) -> Iterator[Chunk]:
        """Lines that no counter has yet, of the oldest segments first, as many as one transaction takes."""
        room = COUNTER_BYTES
        for name in segments.listed(self._directory):
            start = positions.get(name, Offsets()).counters
            if room > 0 and size(self._directory / name) > start:
                chunk = self._read(f"{name}, counters", name, start, max(room, ROW_BYTES))
                if chunk and chunk.end > start:
                    room -= chunk.end - start
                    yield chunk

    def _append_rows(self) -> bool:
        """Rows for what is counted already, of the first segment that has some."""
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
        """Lines of a segment; None where there are none, or it can't be read now."""
        reads = f"{item}, reading"
        if not self.errors.is_backed_off(item) and not self.errors.is_backed_off(reads):
            with self._attempt(reads):
                return reading.read(self._directory, name, start, limit)
        return None

    def _append_chunk(self, chunk: Chunk) -> None:
        decode = FORMATS[segments.version_of(chunk.name) or ""].decode
        visits = [visit for visit in self._sound(decode, chunk.lines) if visit]
        with self._engine.begin() as connection:
            move(connection, chunk.name, "rows_offset", chunk.start, chunk.end)
            rows.append(connection, self._terms, visits)
        self._terms.keep()

    def _sound(self, decode: Callable[[bytes], Visit | None], lines: Sequence[bytes]) -> list[Visit | None]:
        """The visits of some lines, None for one that is damaged."""
        with self.errors.attempt():
            return [decode(line) for line in lines]
        found: list[Visit | None] = []
        for line in lines:
            found.append(None)
            with self.errors.attempt():
                found[-1] = decode(line)
        return found

    def _sync(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), (self._directory / name).open("rb") as file:
            os.fdatasync(file.fileno())

    def _wait(self, error: Exception) -> None:
        """Say what holds this up, once: in the log, and where any process can read it."""
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        if reason != self._waits_for:
            log.warning("Visits wait in the journal: %s", reason)
            self._say(reason)

    def _go_on(self) -> None:
        if self._waits_for:
            log.info("Visits are taken in again")
            self._say("")

    def _say(self, reason: str) -> None:
        self._waits_for = reason
        try:
            self._hindrance.change(lambda _before: reason)
        except OSError:
            log.warning("What the visits wait for can't be written down", exc_info=True)
