"""Pages in an order of values that have nothing to do with the ids: found by how many lie in which range.

Some bounds part a list's values into ranges. The worker counts the values of each block by range; a page is
found by adding these counts up and walking along the index from the beginning of its range.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

import datetime as dt
import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, String, Text, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.database import AnySession
from app.core.extensions import db
from app.input.bitmaps import EPOCH, ListBitmaps, microseconds, name_of, read_bitmaps, read_stale, read_stored
from app.input.blocks import Block
from app.input.selections import RowReader, Selection

RANGES = 512
VERSION_BYTES = 8  # before the counts of a block: which bounds they are of
NONE = "none"  # names the bitmap of the rows without a value
OF_LIST = -1  # the block under which the bounds of a list are stored
LONGEST_WALK = 1_000_000  # rows: the index alone takes as long where there are no bounds
MOST_LIVE = 16  # blocks whose values are read, each some 3 ms


class RangeBounds(NamedTuple):
    """Values that part those of a list, rising: texts, or microseconds since 1970."""

    values: Sequence[Any]
    version: bytes

    @classmethod
    def of(cls, values: Sequence[Any]) -> RangeBounds:
        return cls(values, sha256(json.dumps(values).encode()).digest()[:VERSION_BYTES])

    @classmethod
    def parse(cls, stored: bytes) -> RangeBounds:
        return cls.of(json.loads(stored))

    def dump(self) -> bytes:
        return json.dumps(self.values).encode()


def bounds_name(order: str) -> str:
    return f"bounds of {order}"


def plain(value: Any) -> Any:
    return microseconds(value) if isinstance(value, dt.datetime) else value


def stored_form(value: Any) -> Any:
    """The value as the column has it."""
    return EPOCH + dt.timedelta(microseconds=value) if isinstance(value, int) else value


def count_ranges(numbered: Iterable[tuple[int, int]]) -> bytes:
    """How many rows lie in each range, four bytes each."""
    counts = array("I", bytes(4 * RANGES))
    for _, number in numbered:
        counts[number] += 1
    return counts.tobytes()


class RangedColumn(NamedTuple):
    """A column of a workspace's list that has an index, and whose values are parted into ranges."""

    bitmaps: ListBitmaps
    order: str
    model: Any
    workspace_id: int

    @property
    def column(self) -> Any:
        return self.bitmaps.ranged[self.order]

    @property
    def mine(self) -> ColumnElement[bool]:
        condition: ColumnElement[bool] = self.model.workspace_id == self.workspace_id
        return condition

    def bounds(self, session: AnySession) -> RangeBounds | None:
        table = self.bitmaps.table.c
        stored = session.scalar(
            select(table.bits).where(
                table.workspace_id == self.workspace_id,
                table.name == bounds_name(self.order),
                table.block == OF_LIST,
            )
        )
        return None if stored is None else RangeBounds.parse(stored)

    def number_ranges(self, session: AnySession, block: Block, bounds: RangeBounds) -> list[tuple[int, int]]:
        """The ids of a block's rows that have a value, and the numbers of the ranges in which these lie.
        PostgreSQL itself says where texts lie: its order of them depends on the database."""
        id_, column, connection = self.model.id, self.column, session.connection()
        here = self.mine, id_.between(block.first_id, block.last_id), column.is_not(None)
        if isinstance(column.type, String) and connection.dialect.name == "postgresql":
            which = func.width_bucket(column, cast(bounds.values, ARRAY(Text)))
            return [(row[0], row[1]) for row in connection.execute(select(id_, which).where(*here))]
        found = connection.execute(select(id_, column).where(*here)).all()
        return [(row[0], bisect_right(bounds.values, plain(row[1]))) for row in found]

    def from_range(self, which: int, bounds: RangeBounds) -> Select[int]:
        """The ids of the rows that have a value, in order, from the beginning of a range on."""
        begins = self.column >= stored_form(bounds.values[which - 1]) if which else self.column.is_not(None)
        by_column = self.column.asc()  # with nulls as the index has them, else PostgreSQL would sort
        in_order = by_column.nulls_first() if self.column.nullable else by_column
        return select(self.model.id).where(self.mine, begins).order_by(in_order, self.model.id)

    def until_range(self, which: int, bounds: RangeBounds) -> Select[int]:
        """The ids of the rows before a range that have a value, the last one first."""
        is_last = which > len(bounds.values)
        ends = self.column.is_not(None) if is_last else self.column < stored_form(bounds.values[which - 1])
        by_column = self.column.desc()
        in_order = by_column.nulls_last() if self.column.nullable else by_column
        return select(self.model.id).where(self.mine, ends).order_by(in_order, self.model.id.desc())


class RangedList:
    """A workspace's whole list in the order of one column, then by id. Rows without a value come first."""

    def __init__(self, ranged: RangedColumn, blocks: Sequence[Block]) -> None:
        self.ranged, self.blocks = ranged, blocks
        # first: what is made anew from here on is not stale
        self.live = read_stale(ranged.bitmaps, ranged.workspace_id)

    def read(self, page: tuple[int, int], *, rising: bool) -> list[int] | None:
        """The ids of a page, `page` being how many rows it skips (less than all) and the most that it has.
        None while the worker has not counted nearly all blocks."""
        bounds = self.ranged.bounds(db.session)
        sizes = self.read_sizes(bounds) if bounds is not None else None
        if bounds is None or sizes is None:
            return None
        total = sum(block.size for block in self.blocks)
        most = min(page[1], total - page[0])
        start = page[0] if rising else total - page[0] - most
        without = max(0, total - sum(sizes))
        found = self.read_without_value(start, most) if start < without else []
        if len(found) < most:
            begins = list(accumulate(sizes, initial=0))
            values = self.read_with_value(bounds, begins, max(0, start - without), most - len(found))
            if values is None:
                return None
            found += values
        return found if rising else found[::-1]

    def read_with_value(
        self, bounds: RangeBounds, begins: Sequence[int], start: int, most: int
    ) -> list[int] | None:
        """Walks to the page from the beginning of its first range, or back from the end of its last one.
        None where both are far: very many rows may have the same value."""
        last = min(start + most, begins[-1])
        first_range, last_range = bisect_right(begins, start) - 1, bisect_left(begins, last)
        forth, back = start - begins[min(first_range, RANGES - 1)], begins[last_range] - last
        if min(forth, back) > LONGEST_WALK:
            return None
        if forth <= back:
            wanted = self.ranged.from_range(min(first_range, RANGES - 1), bounds).limit(most)
            return list(db.session.scalars(wanted.offset(forth)))
        wanted = self.ranged.until_range(last_range, bounds).limit(last - start)
        return list(db.session.scalars(wanted.offset(back)))[::-1]

    def read_sizes(self, bounds: RangeBounds) -> Sequence[int] | None:
        """How many rows there are in each range."""
        ranged, left, total = self.ranged, {block.number: block for block in self.blocks}, 0
        for _, number, stored in read_stored(ranged.bitmaps, ranged.workspace_id, [ranged.order]):
            if number in left and number not in self.live and stored.startswith(bounds.version):
                total += int.from_bytes(stored[VERSION_BYTES:], "little")  # no count overflows into the next
                del left[number]
        if len(left) > MOST_LIVE:
            return None
        self.live = set(left)
        for block in left.values():
            numbered = ranged.number_ranges(db.session, block, bounds)
            total += int.from_bytes(count_ranges(numbered), "little")
        return array("I", total.to_bytes(4 * RANGES, "little"))

    def read_without_value(self, start: int, most: int) -> list[int]:
        """Rows without a value are in the order of their ids, which bitmaps have."""
        ranged, name = self.ranged, name_of(self.ranged.order, NONE)
        bits = read_bitmaps(ranged.bitmaps, ranged.workspace_id, [name]).get(name, {})
        rows = RowReader(ranged.model, [ranged.mine, ranged.column.is_(None)])
        found = {
            block.number: rows.read(block) if block.number in self.live else bits.get(block.number, 0)
            for block in self.blocks
        }
        selection = Selection({number: some for number, some in found.items() if some})
        return selection.read(start, most, rising=True)
