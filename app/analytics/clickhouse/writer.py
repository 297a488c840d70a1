"""Writes clicks into ClickHouse, each exactly once.

No transaction spans SQL and ClickHouse. So the end of a batch is committed first, as an intent, then the
batch is inserted with a token made of its source and its ends, and then the position moves. Whatever is
killed in between is done again with the same rows and the same token, which inserts nothing that is there.
Counters and positions stay in the SQL database. (docs/decisions/2026-11-25-clickhouse.md)
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, cast

from sqlalchemy import Engine, Table, delete, insert, select
from sqlalchemy.engine import Connection

from app.analytics import counters
from app.analytics.clickhouse.client import ClickHouse, clickhouse_of
from app.analytics.clickhouse.tables import COLUMNS, make_tables, removed_shelves
from app.analytics.lag import size
from app.analytics.limited import SOURCE, TAKEN, LimitedVisits, advance_generation
from app.analytics.models import Position
from app.analytics.offsets import Inserted, Moved, Offsets, move_offset, read_positions
from app.analytics.periods import DAY_MS
from app.analytics.rows import TEXTS, texts_of_click
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.file_locks import lock_file, wait_for_lock
from app.core.tracing import tracing
from app.events import entries
from app.journal import reader as journal_reader
from app.journal.codec import Visit
from app.journal.reader import Chunk
from app.journal.segments import directory_of
from app.redirects.user_agent import parse_device

BATCH_BYTES = 8 * 1024 * 1024  # some 30,000 clicks
REST_SECONDS = 1.0  # between inserts of less: each makes a part, which has to be merged
LOCK = "clickhouse.lock"  # one process of a machine inserts at a time: none comes back with a forgotten token
POSITIONS = cast("Table", Position.__table__)
PREFIX = "insert "
BEFORE_DEVICE = TEXTS.index("agent") + 1
LAST_DAY = 2**16 - 2
MAX_ID = 2**63 - 1


class Intent(NamedTuple):
    """A batch of a source between two offsets. `day`: the UTC day on which it was noted.

    It is a row among the offsets that no segment has.
    """

    source: str
    day: int
    start: int
    end: int

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.source} {self.day}"

    @property
    def token(self) -> str:
        return f"{self.source}:{self.start}-{self.end}"

    @property
    def first_id(self) -> int:
        """The id of the first click of the batch; those of the others follow."""
        return int.from_bytes(blake2b(self.token.encode(), digest_size=8).digest(), "big") >> 1


def today() -> int:
    return int(time.time() * 1000) // DAY_MS


def list_intents(connection: Connection) -> list[Intent]:
    found = connection.execute(select(POSITIONS).where(POSITIONS.c.name.startswith(PREFIX, autoescape=True)))
    named = ((row.name.removeprefix(PREFIX).rpartition(" "), row) for row in found)
    return [Intent(name[0], int(name[2]), row.counters_offset, row.rows_offset) for name, row in named]


def find_intent(engine: Engine, source: str) -> Intent | None:
    with engine.connect().execution_options(reads=True) as connection:
        return next((each for each in list_intents(connection) if each.source == source), None)


def note_intent(connection: Connection, intent: Intent) -> None:
    """Notes a batch. Raises Moved where another one of the source is noted."""
    if any(each.source == intent.source for each in list_intents(connection)):
        raise Moved(intent.source)
    row = {"name": intent.name, "counters_offset": intent.start, "rows_offset": intent.end}
    connection.execute(insert(POSITIONS), [row])


def insert_clicks(server: ClickHouse, intent: Intent, visits: Sequence[Visit], retention: int) -> None:
    """Inserts the clicks of a batch, once however often it is called."""
    removed = removed_shelves(server)
    parts: dict[tuple[int, int], list[list[Any]]] = defaultdict(list)
    for id_, visit in enumerate(visits, intent.first_id):
        day = visit.time_ms // DAY_MS
        shelf = shelf_of(day, intent.day, removed, retention)
        parts[shelf, day].append(row_of(visit, shelf, id_ & MAX_ID))
    for (shelf, day), rows in sorted(parts.items()):  # a partition's rows are there as a whole, or not at all
        server.insert("click", COLUMNS, rows, f"{intent.token}:{shelf}-{day}")


def shelf_of(own: int, day: int, removed: Collection[int], retention: int) -> int:
    """The shelf of a click of the day `own`: that day, unless it is removed or is to be soon."""
    is_kept = day - retention + 1 < own <= LAST_DAY and own not in removed
    return own if is_kept else day


def row_of(visit: Visit, shelf: int, id_: int) -> list[Any]:
    texts = texts_of_click(visit)
    words = (*texts[:BEFORE_DEVICE], *parse_device(visit.agent), *texts[BEFORE_DEVICE:])
    numbers = (visit.time_ms, id_, visit.link_id, visit.workspace_id, bool(visit.is_bot))
    return [shelf, *numbers, visit.visitor, *words]


def finish_batch(connection: Connection, intent: Intent, visits: Sequence[Visit]) -> None:
    """Removes the intent and adds the clicks to the feed of events, unless another machine was first."""
    done = connection.execute(delete(POSITIONS).where(POSITIONS.c.name == intent.name))
    if done.rowcount == 1:
        places = ((visit.link_id, visit.workspace_id, visit.time_ms) for visit in visits)
        entries.add_clicks(connection, intent.first_id, places)


class SegmentBatches:
    """Batches of the lines of one directory's segments.

    The worker inserts those of its own machine's journal, `RescuedBatches` those of another one. Either goes
    on with a batch that the other has begun.
    """

    is_copy = False  # whether nobody writes to the segments (see `reader.read`)

    def __init__(self, settings: Settings, engine: Engine, directory: Path) -> None:
        self.server = clickhouse_of(settings.clickhouse_url or "")
        self._engine, self._directory = engine, directory
        self.retention = settings.click_retention_days

    def insert_next(self, errors: ErrorBoundary, name: str, offsets: Offsets) -> Inserted | None:
        """Inserts the next batch; None where there is none. Raises Moved where another process was first."""
        found = self._intended(name, offsets)
        if found is None:
            return None
        intent, chunk = found
        with tracing.span("ingest clicks", {"waypost.bytes": intent.end - intent.start}) as span:
            visits = [visit for visit in journal_reader.decode_lines(errors, chunk) if visit]
            span.note({"waypost.clicks": len(visits)})
            insert_clicks(self.server, intent, visits, self.retention)
            with self._engine.begin() as connection:
                move_offset(connection, name, "rows_offset", intent.start, intent.end)
                finish_batch(connection, intent, visits)
        return Inserted(len(visits), len(chunk.lines) - len(visits))

    def _intended(self, name: str, offsets: Offsets) -> tuple[Intent, Chunk] | None:
        """The next batch: the one that was noted before, if there is one, else a new one. None if there are
        no lines."""
        intent = find_intent(self._engine, name)
        room = intent.end - intent.start if intent else min(BATCH_BYTES, offsets.counters - offsets.rows)
        chunk = journal_reader.read(self._directory, name, offsets.rows, room, is_copy=self.is_copy)
        if chunk is None or (intent is None and chunk.end <= chunk.start):
            return None
        if intent is None:
            intent = Intent(name, today(), chunk.start, chunk.end)
            self._note(intent)
        elif chunk.start != intent.start or size(self._directory / name) < intent.end:
            if self.is_copy:  # its machine is alive, and further than the copy
                raise Moved(name)
            raise OSError(f"{name} has other lines than those noted to be inserted")
        return intent, chunk

    def _note(self, intent: Intent) -> None:
        """Notes a batch. Holds the offset's row meanwhile, or two processes might note two that overlap."""
        with self._engine.begin() as connection:
            move_offset(connection, intent.source, "rows_offset", intent.start, intent.start)
            note_intent(connection, intent)


class RescuedBatches(SegmentBatches):
    """The batches of a rescued journal. Every method raises StatisticsUnavailable without an answer."""

    # see docs/decisions/2026-11-25-rescued-journals.md
    is_copy = True
    chunk_bytes = BATCH_BYTES

    def __init__(self, settings: Settings, engine: Engine, directory: Path) -> None:
        super().__init__(settings, engine, directory)
        self._lock = directory_of(settings.data_dir) / LOCK
        self._errors = ErrorBoundary("journal import")

    def prepare(self) -> None:
        make_tables(self.server)

    def insert(self, name: str, offsets: Offsets) -> Inserted | None:
        """Inserts the next batch of a segment; None where there is none. Raises Moved."""
        with wait_for_lock(self._lock):
            return self.insert_next(self._errors, name, offsets)

    def is_cut(self, name: str) -> bool:
        """Whether its machine has begun a batch whose end the file here does not have."""
        intent = find_intent(self._engine, name)
        return intent is not None and size(self._directory / name) < intent.end


class LimitedBatches(LimitedVisits):
    """Batches of clicks on links with a click limit.

    A batch is what `limited_taken` holds: its ids are committed there, with an intent, before it is inserted.
    The next one is taken only when that one is done and its source rows are removed.
    """

    def insert_next(self, batches: SegmentBatches) -> bool:
        """Takes a batch, or goes on with the one that is taken; returns whether one was inserted."""
        generation, taken = self._state()
        intent = find_intent(self._clicks, SOURCE)
        if intent is None and not taken and self.is_waiting():
            intent = self._take(generation)
        if intent is None:
            return False
        _, taken = self._state()
        visits = [visit for visit in self.visits_of(sorted(taken)).values() if visit]
        insert_clicks(batches.server, intent, visits, batches.retention)
        with self._clicks.begin() as connection:
            finish_batch(connection, intent, visits)
        return True

    def remove_taken(self) -> None:
        """Deletes the source rows of a batch that is inserted."""
        if find_intent(self._clicks, SOURCE) is None:
            super().remove_taken()

    def _take(self, generation: int) -> Intent | None:
        found = self._waiting(frozenset())
        if not found:
            return None
        intent = Intent(SOURCE, today(), generation, generation + 1)
        with self._clicks.begin() as connection:
            advance_generation(connection, generation)
            connection.execute(insert(TAKEN), [{"id": id_} for id_ in found])
            counters.add_damaged(connection, sum(visit is None for visit in found.values()))
            note_intent(connection, intent)
        return intent


class ClickHouseIngest:
    """What is to be inserted of this machine's journal: lines that are counted already."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self._directory = directory_of(settings.data_dir)
        self._engine = engine
        self._batches = SegmentBatches(settings, engine, self._directory)
        self._limited = LimitedBatches(settings, engine, self._directory)
        self._has_tables = False
        self._rests_until = 0.0
        self.remove_taken, self.close = self._limited.remove_taken, self._limited.close

    def is_alone(self) -> AbstractContextManager[bool]:
        return lock_file(self._directory / LOCK)

    def due(self, errors: ErrorBoundary) -> Iterator[tuple[str, Callable[[], bool]]]:
        """What is due, each with its name: it inserts a batch, and returns whether there was one."""
        if not self._has_tables:
            yield "tables of ClickHouse", self._make_tables
        positions = read_positions(self._engine) if self._has_tables else {}
        waiting = {name: offsets.counters - offsets.rows for name, offsets in sorted(positions.items())}
        has_rested = time.monotonic() >= self._rests_until
        for name, length in waiting.items():
            if length > 0 and (has_rested or length >= BATCH_BYTES):
                self._rests_until = time.monotonic() + REST_SECONDS
                yield f"{name}, rows", partial(self._insert, errors, name, positions[name])
        if self._has_tables:
            yield SOURCE, partial(self._limited.insert_next, self._batches)

    def _make_tables(self) -> bool:
        make_tables(self._batches.server)
        self._has_tables = True
        return False

    def _insert(self, errors: ErrorBoundary, name: str, offsets: Offsets) -> bool:
        return self._batches.insert_next(errors, name, offsets) is not None
