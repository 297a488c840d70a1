"""How do visits get from the journal into the database, each exactly once?

The worker calls `Ingest.step` again and again. Counters come first and for all that waits, rows after them
in transactions short enough that counters never wait long. Any number of processes may do this at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterator, Mapping

from sqlalchemy.exc import DBAPIError

from app.clicks import backfill, counting, rows
from app.clicks.engine import open_engine
from app.clicks.lag import JournalState, hindrance, journal_state, size
from app.clicks.limited import LimitedVisits
from app.clicks.positions import Moved, Offsets, move, read_positions
from app.clicks.removal import remove_finished
from app.clicks.terms import Terms
from app.config import Settings
from app.journal import reading, reserve, segments
from app.journal.reading import Chunk
from app.journal.record import FORMATS

COUNTER_BYTES = 8 * 1024 * 1024  # some 30,000 visits in a transaction, well below a second
ROW_BYTES = 2 * 1024 * 1024
TEND_SECONDS = 1.0

log = logging.getLogger(__name__)


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

    def step(self) -> bool:
        """Take in some of what waits; whether there was any. What holds it up is said, and tried again."""
        try:
            has_moved = self._count()
            has_moved |= self._append_rows()
            has_moved |= self._limited.step(self._terms)
            has_moved = has_moved or backfill.step(self._engine, self._terms)
            if time.monotonic() - self._tended >= TEND_SECONDS:
                self.tend()
        except self._failures as error:
            self._wait(error)
            return False
        except Moved:
            return False  # another process took these lines in
        self._go_on()
        return has_moved

    def tend(self) -> None:
        """What need not be done for every visit: sync, checkpoint, remove, sweep, keep a reserve."""
        self._tended = time.monotonic()
        self._hindrance.prepare()
        self.sync()
        remove_finished(self._engine, self._directory)
        self._limited.remove_taken()
        segments.sweep(self._directory, time.time())
        reserve.keep(self._directory)

    def sync(self) -> None:
        """Bring to disk what the web processes wrote since the last time; they never wait for that."""
        sizes = {name: size(self._directory / name) for name in segments.listed(self._directory)}
        late = [name for name, length in sizes.items() if self._synced.get(name) != length]
        for name in late:
            self._sync(name)
        if late:
            segments.sync_directory(self._directory)
        self._synced = sizes

    def status(self) -> JournalState:
        """How far behind this is. (Another process asks `journal_state` with the positions it reads.)"""
        return journal_state(self._directory, read_positions(self._engine), time.time())

    def close(self) -> None:
        self._limited.close()
        self._engine.dispose()

    def _count(self) -> bool:
        chunks = list(self._uncounted(read_positions(self._engine)))
        if chunks:
            with self._engine.begin() as connection:
                counting.count(connection, self._directory, chunks)
        return bool(chunks)

    def _uncounted(self, positions: Mapping[str, Offsets]) -> Iterator[Chunk]:
        """Lines that no counter has yet, of the oldest segments first, as many as one transaction takes."""
        room = COUNTER_BYTES
        for name in segments.listed(self._directory):
            start = positions.get(name, Offsets()).counters
            if room > 0 and size(self._directory / name) > start:
                chunk = reading.read(self._directory, name, start, max(room, ROW_BYTES))
                if chunk and chunk.end > start:
                    room -= chunk.end - start
                    yield chunk

    def _append_rows(self) -> bool:
        """Rows for what is counted already, of the first segment that has some."""
        for name, offsets in sorted(read_positions(self._engine).items()):
            if offsets.rows < offsets.counters:
                limit = min(ROW_BYTES, offsets.counters - offsets.rows)
                chunk = reading.read(self._directory, name, offsets.rows, limit)
                if chunk and chunk.end > chunk.start:
                    self._append_chunk(chunk)
                    return True
        return False

    def _append_chunk(self, chunk: Chunk) -> None:
        decode = FORMATS[segments.version_of(chunk.name) or ""].decode
        visits = [visit for visit in map(decode, chunk.lines) if visit]
        with self._engine.begin() as connection:
            move(connection, chunk.name, "rows_offset", chunk.start, chunk.end)
            rows.append(connection, self._terms, visits)
        self._terms.keep()

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
