"""Which number stands for a text?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import cast

from sqlalchemy import Table, select
from sqlalchemy.engine import Connection

from app.clicks.models import Term
from app.clicks.positions import insert_into

TABLE = cast("Table", Term.__table__)
KEPT = 200_000
AT_ONCE = 500


class Terms:
    """Numbers of texts, made where there is none. The committed ones are remembered; they never change.

    `described` are the agents' texts among them that were looked at.
    """

    def __init__(self) -> None:
        self.described: set[str] = set()
        self._known: dict[str, int] = {}
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

    def begin(self) -> None:
        """Forget what a transaction before brought that did not come to its end."""
        self._fresh, self._looked_at = {}, set()

    def keep(self) -> None:
        """Remember what there was since `begin`: it is committed."""
        if len(self._known) + len(self._fresh) > KEPT:
            self._known.clear()
            self.described.clear()
        self._known.update(self._fresh)
        self.described.update(self._looked_at)
        self.begin()


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
