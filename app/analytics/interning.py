"""String interning: text to integer id, on ingest, and look-up of either."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from sys import getsizeof
from typing import cast

from sqlalchemy import Table, select
from sqlalchemy.engine import Connection

from app.analytics import interning_state
from app.analytics.models import Term
from app.analytics.offsets import insert_into
from app.analytics.scope import BATCH_SIZE, Bind

TABLE = cast("Table", Term.__table__)
MAX_TEXTS = 200_000
MAX_BYTES = 64 * 1024 * 1024  # of all texts together: a referrer's path alone may have 2,048 characters
ENTRY_BYTES = 250  # of one entry beside its text, in the dict and the set that may hold it


class Interner:
    """Ids of texts, created where missing.

    Committed ones are cached until a process removes texts that no row uses. An id is never given to another
    text. `described`: the user agents among the texts whose device, system and browser are stored.
    """

    def __init__(self) -> None:
        self.described: set[str] = set()
        self._removals = 0  # the count of removals of texts when the cache was filled
        self._known: dict[str, int] = {}
        self._bytes = 0  # memory that the known ones take
        self._fresh: dict[str, int] = {}
        self._looked_at: set[str] = set()

    def ids(self, connection: Connection, values: set[str]) -> dict[str, int]:
        """An id for each text but the empty one: that means unknown and has none."""
        known = {value: self._known[value] for value in values & self._known.keys()}
        missing = {digest_text(value): value for value in values if value and value not in known}
        if missing:
            insert_texts(connection, missing)
            fresh = {missing[found]: number for found, number in look_up(connection, sorted(missing))}
            self._fresh |= fresh
            known |= fresh
        return known

    def describing(self, texts: Iterable[str]) -> None:
        self._looked_at.update(texts)

    def begin(self, connection: Connection) -> None:
        """Begins a transaction that looks up ids and writes rows that name them.

        Until it ends, no text is removed. Ids from an earlier transaction that was rolled back are dropped.
        """
        interning_state.lock_shared(connection)
        removals = interning_state.read_count(connection, interning_state.REMOVED_TEXTS)
        if removals != self._removals:
            self._known.clear()
            self.described.clear()
            self._removals = removals
        self._drop_fresh()

    def _drop_fresh(self) -> None:
        self._fresh, self._looked_at = {}, set()

    def keep(self) -> None:
        """Caches the ids created since `begin`, now that they are committed."""
        self._bytes += sum(ENTRY_BYTES + getsizeof(text) for text in self._fresh)
        if len(self._known) + len(self._fresh) > MAX_TEXTS or self._bytes > MAX_BYTES:
            self._known.clear()
            self.described.clear()
            self._bytes = sum(ENTRY_BYTES + getsizeof(text) for text in self._fresh)
        self._known.update(self._fresh)
        self.described.update(self._looked_at)
        self._drop_fresh()


def digest_text(value: str) -> int:
    return int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "big", signed=True)


def insert_texts(connection: Connection, missing: dict[int, str]) -> None:
    # sorted, or two ingesters on one PostgreSQL could deadlock over each other's texts
    rows = [{"digest": number, "value": missing[number]} for number in sorted(missing)]
    connection.execute(insert_into(connection, TABLE).on_conflict_do_nothing(), rows)


def look_up(connection: Connection, digests: Sequence[int]) -> Iterator[tuple[int, int]]:
    for start in range(0, len(digests), BATCH_SIZE):
        wanted = TABLE.c.digest.in_(digests[start : start + BATCH_SIZE])
        for row in connection.execute(select(TABLE.c.digest, TABLE.c.id).where(wanted)):
            yield row.digest, row.id


TERMS = cast("Table", Term.__table__)


def texts_of(bind: Bind, ids: Iterable[int | None]) -> dict[int | None, str]:
    """The texts of these ids; none for 0 and None."""
    wanted = sorted({id_ for id_ in ids if id_})
    found: dict[int | None, str] = {}
    for start in range(0, len(wanted), BATCH_SIZE):
        some = TERMS.c.id.in_(wanted[start : start + BATCH_SIZE])
        rows = bind.execute(select(TERMS.c.id, TERMS.c.value).where(some))
        found.update({row.id: row.value for row in rows})
    return found


def numbers_of(bind: Bind, texts: Iterable[str]) -> dict[str, int]:
    """The ids of these texts. A text without one is in no click."""
    wanted = {digest_text(text): text for text in texts}
    rows = bind.execute(select(TERMS.c.id, TERMS.c.digest).where(TERMS.c.digest.in_(wanted)))
    return {wanted[row.digest]: row.id for row in rows}
