"""Bitmaps of an owner's rows by block of ids: what filters find in a long list, without reading its rows.

A bitmap of a block (4,096 consecutive ids) has a bit for each id: whether a filter with one of its values
finds that row. Filters are combined by combining bits. The worker makes the bitmaps; triggers mark a block
as stale in the transaction that changes one of its rows, and until its bitmaps are made anew its rows are
read instead. So what is found is exact at any time.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

import datetime as dt
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select

from app.core.extensions import db
from app.input.blocks import BLOCK_BITS

SIZE = 1 << BLOCK_BITS  # bits of a bitmap
BYTES = SIZE // 8
FETCHED = 256  # rows at a time: fewer take more steps, and all signatures of a list are 64 MB
MOST_OFFSETS = 64  # of a bitmap with no more bits their places are stored, two bytes each
ALL = "id"  # the name of the bitmap of all rows
MOMENTS = "moments"  # of the earliest and the latest moment of a block's rows
UNKNOWN = "*"  # the value of a filter that has too many values in a block: its rows are read
ENDS = struct.Struct("<qq")  # microseconds since 1970
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

#: the bits of the rows that were found, by the number of their block; a block without any is not in it
Bits = dict[int, int]
#: the rows with one of a filter's values; adds blocks that have to be read to the last
ComputedBits = Callable[["ListBitmaps", int, Sequence[str], set[int]], Bits]
#: those of these blocks that can have a row which a search finds
Candidates = Callable[["ListBitmaps", int, str, Set[int]], Set[int]]


class MomentBound(NamedTuple):
    """The moments that a filter finds: from `moment` on (`is_start`), or until then."""

    moment: dt.datetime
    is_start: bool
    is_inclusive: bool = True

    def meets(self, moment: int) -> bool:
        """`moment`: microseconds since 1970."""
        bound = microseconds(self.moment)
        if moment == bound:
            return self.is_inclusive
        return (moment > bound) is self.is_start


class ListBitmaps(NamedTuple):
    """The bitmaps of a list. `stale`: the table of the blocks that have changed since theirs were made.

    `values`: how a bitmap's name has the value of a filter, by filter. `moment`: the column that `MOMENTS`
    describes. `moments`: the filters by it. `computed`: functions for filters that bitmaps
    alone don't tell. `searched`: functions for filters that read the rows of some blocks.
    `ignored`: filters that all rows meet. `ranged`: the columns, by
    the names of orders, whose values are counted by range; each has an index.
    """

    table: Table
    stale: Table
    values: Mapping[str, Callable[[str], object]]
    moment: Any
    moments: Mapping[str, Callable[[str], MomentBound]]
    computed: Mapping[str, ComputedBits]
    searched: Mapping[str, Candidates]
    ignored: frozenset[str]
    ranged: Mapping[str, Any]

    def can_answer(self, names: Iterable[str]) -> bool:
        known = {*self.values, *self.moments, *self.computed, *self.searched, *self.ignored}
        return known.issuperset(names)


def name_of(filter_name: str, value: object) -> str:
    return f"{filter_name}:{value}"


def microseconds(moment: dt.datetime) -> int:
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


def ends_of(column: Any) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """The lowest and the highest value of a block's rows. As an expression: PostgreSQL would walk along the
    column's index until it comes to a row of the block."""
    value = func.coalesce(column, column)
    return func.min(value), func.max(value)


# ------------------------------------------------------------------- one bitmap


def encode(offsets: Sequence[int]) -> bytes:
    """The stored form of a bitmap with these bits: all bits, or the places of a few."""
    if len(offsets) > MOST_OFFSETS:
        return of_offsets(offsets).to_bytes(BYTES, "little")
    return array("H", offsets).tobytes()


def decode(stored: bytes) -> int:
    if len(stored) == BYTES:
        return int.from_bytes(stored, "little")
    return sum(1 << offset for offset in array("H", stored))


def of_offsets(offsets: Iterable[int]) -> int:
    """The bitmap with these bits. (By digits: setting bit after bit would copy the number each time.)"""
    digits = bytearray(b"0" * SIZE)
    for offset in offsets:
        digits[~offset] = ONE
    return int(digits, 2)


ONE = ord("1")
SET = re.compile(rb"[^\0]")
BITS_OF = [[bit for bit in range(8) if value >> bit & 1] for value in range(256)]


def offsets_of(bits: int, size: int = SIZE) -> list[int]:
    """The places of all bits that are set, lowest first. `size`: a bound of them."""
    stored = bits.to_bytes(size // 8, "little")
    return [
        8 * found.start() + bit for found in SET.finditer(stored) for bit in BITS_OF[stored[found.start()]]
    ]


# ------------------------------------------------------------- bitmaps as stored


def read_stale(bitmaps: ListBitmaps, workspace_id: int) -> set[int]:
    stale = bitmaps.stale.c
    return set(db.session.scalars(select(stale.block).where(stale.workspace_id == workspace_id)))


def read_stored(
    bitmaps: ListBitmaps, workspace_id: int, names: Sequence[str]
) -> Iterator[tuple[str, int, bytes]]:
    """The names, the blocks and the stored forms."""
    table = bitmaps.table.c
    wanted = select(table.name, table.block, table.bits).where(
        table.workspace_id == workspace_id, table.name.in_(names)
    )
    connection = db.session.connection()
    if connection.dialect.name == "postgresql":
        return read_binary(connection, bitmaps.table, workspace_id, names)
    rows = connection.execute(wanted)
    return chain.from_iterable(rows.partitions(FETCHED))


def read_binary(
    connection: Connection, table: Table, workspace_id: int, names: Sequence[str]
) -> Iterator[tuple[str, int, bytes]]:
    """The same from PostgreSQL, not as text: that has twice the bytes, and takes twice the time to read."""
    wanted = f"SELECT name, block, bits FROM {table.name} WHERE workspace_id = %s AND name = ANY(%s)"  # noqa: S608
    cursor = connection.connection.cursor(binary=True)
    try:
        found: list[tuple[str, int, bytes]] = cursor.execute(wanted, (workspace_id, list(names))).fetchall()
    finally:
        cursor.close()
    return iter(found)


def read_bitmaps(bitmaps: ListBitmaps, workspace_id: int, names: Sequence[str]) -> dict[str, Bits]:
    found: dict[str, Bits] = {}
    for name, block, stored in read_stored(bitmaps, workspace_id, names):
        found.setdefault(name, {})[block] = decode(stored)
    return found


# -------------------------------------------------------- bits of several blocks


def either(several: Iterable[Bits]) -> Bits:
    found: Bits = {}
    for bits in several:
        for number, some in bits.items():
            found[number] = found.get(number, 0) | some
    return found


def both(one: Bits, other: Bits) -> Bits:
    return {number: bits & other[number] for number, bits in one.items() if number in other}


def without(one: Bits, other: Bits) -> Bits:
    return {number: bits & ~other.get(number, 0) for number, bits in one.items()}
