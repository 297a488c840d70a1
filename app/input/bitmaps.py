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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select

from app.core.extensions import db
from app.input.blocks import BLOCK_BITS, LEAST_OF_PART, Block
from app.input.params import QueryParams, values_of

SIZE = 1 << BLOCK_BITS  # bits of a bitmap
BYTES = SIZE // 8
MOST_OFFSETS = 64  # of a bitmap with no more bits their places are stored, two bytes each
ALL = "id"  # the name of the bitmap of all rows
MOMENTS = "moments"  # of the earliest and the latest moment of a block's rows
UNKNOWN = "*"  # the value of a filter that has too many values in a block: its rows are read
MOST_LIVE = 64  # blocks whose rows are read, each 1 to 2 ms; beyond that the whole list is read in one go
ENDS = struct.Struct("<qq")  # microseconds since 1970
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

#: the bits of the rows that were found, by the number of their block; a block without any is not in it
Bits = dict[int, int]
#: the rows with one of a filter's values, of all rows; adds blocks that have to be read to the last. None
#: where it can't say
ComputedBits = Callable[["ListBitmaps", int, Sequence[str], Bits, set[int]], "Bits | None"]


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
    alone don't tell. `ignored`: filters that all rows meet. `ranged`: the columns, by
    the names of orders, whose values are counted by range; each has an index.
    """

    table: Table
    stale: Table
    values: Mapping[str, Callable[[str], object]]
    moment: Any
    moments: Mapping[str, Callable[[str], MomentBound]]
    computed: Mapping[str, ComputedBits]
    ignored: frozenset[str]
    ranged: Mapping[str, Any]

    def can_answer(self, names: Iterable[str]) -> bool:
        known = {*self.values, *self.moments, *self.computed, *self.ignored}
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


# -------------------------------------------------------------------- selections


class Selection:
    """What filters find of a workspace's list: any part of it in the order of ids, and how much it is."""

    def __init__(self, bits: Bits, live: Collection[int] = ()) -> None:
        """`live`: the blocks whose rows were read, for their bitmaps can't be used."""
        self.bits, self.live = bits, live
        self.blocks = [Block(number, bits[number].bit_count()) for number in sorted(bits)]
        self.size = sum(block.size for block in self.blocks)

    def has(self, id_: int) -> bool:
        return bool(self.bits.get(id_ >> BLOCK_BITS, 0) >> (id_ % SIZE) & 1)

    def read(self, skipped: int, most: int, *, rising: bool) -> list[int]:
        """The ids of the first `most` rows after `skipped` ones."""
        return list(islice(self.ids_after(skipped, rising=rising), most))

    def ids_after(self, skipped: int, *, rising: bool) -> Iterator[int]:
        for block in self.blocks if rising else reversed(self.blocks):
            if skipped >= block.size:
                skipped -= block.size
                continue
            offsets = offsets_of(self.bits[block.number])
            for offset in (offsets if rising else offsets[::-1])[skipped:]:
                yield block.first_id + offset
            skipped = 0


class RowReader(NamedTuple):
    """Reads rows of a block that has no bitmaps, or stale ones. `conditions`: whose they are, and filters."""

    model: Any
    conditions: Sequence[ColumnElement[bool]]

    def read(self, block: Block) -> int:
        id_ = self.model.id
        wanted = select(id_).where(*self.conditions, id_.between(block.first_id, block.last_id))
        return of_offsets(found - block.first_id for found in db.session.scalars(wanted))


def select_rows(
    bitmaps: ListBitmaps,
    workspace_id: int,
    params: QueryParams,
    asked: Sequence[str],
    excluded: Iterable[str],
    blocks: Sequence[Block],
    rows: RowReader,
) -> Selection | None:
    """What the filters `asked` find with the values in `params`, and without those of the `excluded` ones.

    None where bitmaps can't say: the list is short, a filter has none, or too many are stale.
    """
    if len(blocks) < LEAST_OF_PART or not bitmaps.can_answer(asked):
        return None
    live = read_stale(bitmaps, workspace_id)  # first: what is made anew from here on is not stale
    everything = read_bitmaps(bitmaps, workspace_id, [ALL]).get(ALL, {})
    live.update(block.number for block in blocks if block.number not in everything)
    numbers = {block.number for block in blocks}
    if len(live & numbers) > MOST_LIVE:
        return None
    found = {number: bits for number, bits in everything.items() if number not in live}
    for name in asked:
        if name in bitmaps.moments:
            found = between(bitmaps, workspace_id, bitmaps.moments[name](params[name]), found, live)
        elif name not in bitmaps.ignored:
            compute = bitmaps.computed.get(name, partial(read_any, name))
            bits = compute(bitmaps, workspace_id, values_of(params[name]), everything, live)
            if bits is None:
                return None
            found = without(found, bits) if name in excluded else both(found, bits)
    live &= numbers
    if len(live) > MOST_LIVE:
        return None
    kept = {number: bits for number, bits in found.items() if number in numbers and number not in live}
    read = {block.number: rows.read(block) for block in blocks if block.number in live}
    return Selection({number: bits for number, bits in (kept | read).items() if bits}, live)


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
    return ((row.name, row.block, row.bits) for row in connection.execute(wanted))


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


def read_any(
    name: str,
    bitmaps: ListBitmaps,
    workspace_id: int,
    values: Sequence[str],
    _everything: Bits,
    live: set[int],
) -> Bits:
    """The rows with one of a filter's values. Adds to `live` the blocks in which it has too many."""
    unknown = name_of(name, UNKNOWN)
    names = {name_of(name, bitmaps.values[name](value)) for value in values}
    found = read_bitmaps(bitmaps, workspace_id, [*names, unknown])
    live.update(found.pop(unknown, {}))
    return either(found.values())


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


def between(bitmaps: ListBitmaps, workspace_id: int, bound: MomentBound, found: Bits, live: set[int]) -> Bits:
    """The rows of blocks whose moments all meet the bound. Adds to `live` those of which some may."""
    met = {}
    for _, number, stored in read_stored(bitmaps, workspace_id, [MOMENTS]):
        if number in live:
            continue
        first, last = (bound.meets(moment) for moment in ENDS.unpack(stored))
        if first is not last:
            live.add(number)
        elif first and number in found:
            met[number] = found[number]
    return met
