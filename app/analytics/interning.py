"""String interning: text to integer id, on ingest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from sys import getsizeof
from typing import cast

from sqlalchemy import Table, select
from sqlalchemy.engine import Connection

from app.clicks import term_state
from app.clicks.models import Term
from app.clicks.positions import insert_into

TABLE = cast("Table", Term.__table__)
KEPT = 200_000
MAX_BYTES = 64 * 1024 * 1024  # of all of them: a referrer's path alone may have 2,048 characters
ENTRY_BYTES = 250  # of one beside its text, in both places where it stands
AT_ONCE = 500


class Terms:
    """Numbers of texts, made where there is none. The committed ones are remembered until some process
    removes texts that no row uses; a number is never given to another text.

    `described` are the agents' texts among them that were looked at.
    """

    def __init__(self) -> None:
        self.described: set[str] = set()
        self._removals = 0  # how often texts were removed, when these were read
        self._known: dict[str, int] = {}
        self._bytes = 0  # that the known take
        self._fresh: dict[str, int] = {}
        self._looked_at: set[str] = set()

    def ids(self, connection: Connection, values: set[str]) -> dict[str, int]:
        """A number for each text but the empty one, which is unknown and has none."""
        known = {value: self._known[value] for value in values & self._known.keys()}
        missing = {digest(value): value for value in values if value and value not in known}
        if missing:
            add(connection, missing)
            fresh = {missing[found]: number for found, number in look_up(connection, sorted(missing))}
            self._fresh |= fresh
            known |= fresh
        return known

    def describing(self, texts: Iterable[str]) -> None:
        self._looked_at.update(texts)

    def begin(self, connection: Connection) -> None:
        """Begin a transaction that looks up numbers and writes rows that name them. Until it ends, no text
        is removed; what a transaction before brought that did not come to its end is forgotten."""
        term_state.lock_shared(connection)
        removals = term_state.read_count(connection, term_state.REMOVED_TEXTS)
        if removals != self._removals:
            self._known.clear()
            self.described.clear()
            self._removals = removals
        self._drop_fresh()

    def _drop_fresh(self) -> None:
        self._fresh, self._looked_at = {}, set()

    def keep(self) -> None:
        """Remember what there was since `begin`: it is committed."""
        self._bytes += sum(ENTRY_BYTES + getsizeof(text) for text in self._fresh)
        if len(self._known) + len(self._fresh) > KEPT or self._bytes > MAX_BYTES:
            self._known.clear()
            self.described.clear()
            self._bytes = sum(ENTRY_BYTES + getsizeof(text) for text in self._fresh)
        self._known.update(self._fresh)
        self.described.update(self._looked_at)
        self._drop_fresh()


def digest(value: str) -> int:
    return int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "big", signed=True)


def add(connection: Connection, missing: dict[int, str]) -> None:
    # in order, or two ingesters of one PostgreSQL could wait for each other's terms
    rows = [{"digest": number, "value": missing[number]} for number in sorted(missing)]
    connection.execute(insert_into(connection, TABLE).on_conflict_do_nothing(), rows)


def look_up(connection: Connection, digests: Sequence[int]) -> Iterator[tuple[int, int]]:
    for start in range(0, len(digests), AT_ONCE):
        wanted = TABLE.c.digest.in_(digests[start : start + AT_ONCE])
        for row in connection.execute(select(TABLE.c.digest, TABLE.c.id).where(wanted)):
            yield row.digest, row.id
