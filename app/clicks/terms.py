"""Which number stands for a text?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Numbers of texts, made where there is none. The committed ones are remembered; they never change."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._fresh: dict[str, int] = {}

    def ids(self, connection: Connection, values: set[str]) -> dict[str, int]:
        """A number for each text but the empty one, which is unknown and has none."""
        known = {value: self._known[value] for value in values & self._known.keys()}
        missing = {digest(value): value for value in values if value and value not in known}
        self._fresh = {}
        if missing:
            add(connection, missing)
            self._fresh = {missing[found]: number for found, number in look_up(connection, sorted(missing))}
        return known | self._fresh

    def keep(self) -> None:
        """Remember the numbers of the last call: its transaction is committed."""
        if len(self._known) + len(self._fresh) > KEPT:
            self._known.clear()
        self._known.update(self._fresh)
        self._fresh = {}


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
