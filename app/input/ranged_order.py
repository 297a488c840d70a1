"""Pages in an order of values that have nothing to do with the ids: found by how many lie in which range.

Some bounds part a list's values into ranges. The worker counts the values of each block by range; a page is
found by adding these counts up and walking along the index from the beginning of its range.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

import datetime as dt
import json
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, String, Text, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.database import AnySession
from app.core.extensions import db
from app.input.bitmaps import (
    EPOCH,
    ListBitmaps,
    RowReader,
    Selection,
    microseconds,
    name_of,
    read_bitmaps,
    read_stale,
    read_stored,
)
from app.input.blocks import Block

RANGES = 512
VERSION_BYTES = 8  # before the counts of a block: which bounds they are of
NONE = "none"  # names the bitmap of the rows without a value
OF_LIST = -1  # the block under which the bounds of a list are stored
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


def read_bounds(
    session: AnySession, bitmaps: ListBitmaps, workspace_id: int, order: str
) -> RangeBounds | None:
    table = bitmaps.table.c
    stored = session.scalar(
        select(table.bits).where(
            table.workspace_id == workspace_id, table.name == bounds_name(order), table.block == OF_LIST
        )
    )
    return None if stored is None else RangeBounds.parse(stored)


def plain(value: Any) -> Any:
    return microseconds(value) if isinstance(value, dt.datetime) else value


def stored_form(value: Any) -> Any:
    """The value as the column has it."""
    return EPOCH + dt.timedelta(microseconds=value) if isinstance(value, int) else value


def number_ranges(
    session: AnySession,
    id_: Any,
    column: Any,
    conditions: Iterable[ColumnElement[bool]],
    bounds: RangeBounds,
) -> list[tuple[int, int]]:
    """The ids of some rows that have a value, and the numbers of the ranges in which these lie. PostgreSQL
    itself says where texts lie: its order of them depends on the database."""
    connection, rows = session.connection(), [*conditions, column.is_not(None)]
    if isinstance(column.type, String) and connection.dialect.name == "postgresql":
        which = func.width_bucket(column, cast(bounds.values, ARRAY(Text)))
        return [(row[0], row[1]) for row in connection.execute(select(id_, which).where(*rows))]
    found = connection.execute(select(id_, column).where(*rows)).all()
    return [(row[0], bisect_right(bounds.values, plain(row[1]))) for row in found]


def count_ranges(numbered: Iterable[tuple[int, int]]) -> bytes:
    """How many rows lie in each range, four bytes each."""
    counts = array("I", bytes(4 * RANGES))
    for _, number in numbered:
        counts[number] += 1
    return counts.tobytes()


class RangedList:
    """A workspace's whole list in the order of one column, then by id. Rows without a value come first."""

    def __init__(
        self, bitmaps: ListBitmaps, order: str, model: Any, workspace_id: int, blocks: Sequence[Block]
    ) -> None:
        self.bitmaps, self.order, self.column, self.model = bitmaps, order, bitmaps.ranged[order], model
        self.workspace_id, self.blocks = workspace_id, blocks
        self.mine = model.workspace_id == workspace_id
        self.live = read_stale(bitmaps, workspace_id)  # first: what is made anew from here on is not stale
        self.bounds = read_bounds(db.session, bitmaps, workspace_id, order)

    def read(self, page: tuple[int, int], *, rising: bool) -> list[int] | None:
        """The ids of a page, `page` being how many rows it skips (less than all) and the most that it has.
        None while the worker has not counted nearly all blocks."""
        sizes = self.read_sizes()
        if sizes is None:
            return None
        total = sum(block.size for block in self.blocks)
        most = min(page[1], total - page[0])
        start = page[0] if rising else total - page[0] - most
        without = max(0, total - sum(sizes))
        found = self.read_without_value(start, most) if start < without else []
        if len(found) < most:
            found += self.read_with_value(sizes, max(0, start - without), most - len(found))
        return found if rising else found[::-1]

    def read_sizes(self) -> Sequence[int] | None:
        """How many rows there are in each range."""
        if self.bounds is None:
            return None
        left = {block.number: block for block in self.blocks}
        total = 0
        for _, number, stored in read_stored(self.bitmaps, self.workspace_id, [self.order]):
            if number in left and number not in self.live and stored.startswith(self.bounds.version):
                total += int.from_bytes(stored[VERSION_BYTES:], "little")  # no count overflows into the next
                del left[number]
        if len(left) > MOST_LIVE:
            return None
        self.live = set(left)
        for block in left.values():
            rows = self.rows_of(block)
            numbered = number_ranges(db.session, self.model.id, self.column, rows, self.bounds)
            total += int.from_bytes(count_ranges(numbered), "little")
        return array("I", total.to_bytes(4 * RANGES, "little"))

    def rows_of(self, block: Block) -> list[ColumnElement[bool]]:
        return [self.mine, self.model.id.between(block.first_id, block.last_id)]

    def read_without_value(self, start: int, most: int) -> list[int]:
        """Rows without a value are in the order of their ids, which bitmaps have."""
        name = name_of(self.order, NONE)
        bits = dict(read_bitmaps(self.bitmaps, self.workspace_id, [name]).get(name, {}))
        rows = RowReader(self.model, [self.mine, self.column.is_(None)])
        here = {block.number for block in self.blocks}
        kept = {number: some for number, some in bits.items() if number in here and number not in self.live}
        read = {block.number: rows.read(block) for block in self.blocks if block.number in self.live}
        return Selection({number: some for number, some in (kept | read).items() if some}).read(
            start, most, rising=True
        )

    def read_with_value(self, sizes: Sequence[int], start: int, most: int) -> list[int]:
        ends = list(accumulate(sizes))
        which = min(bisect_right(ends, start), RANGES - 1)
        conditions = [self.mine, self.column.is_not(None)]
        if which and self.bounds is not None:
            conditions[1] = self.column >= stored_form(self.bounds.values[which - 1])
        wanted = select(self.model.id).where(*conditions).order_by(*self.along_index())
        skipped = start - (ends[which - 1] if which else 0)
        return list(db.session.scalars(wanted.limit(most).offset(skipped)))

    def along_index(self) -> list[Any]:
        """The order as the index has it: without saying where nulls are PostgreSQL would sort."""
        by_column = self.column.asc()
        return [by_column.nulls_first() if self.column.nullable else by_column, self.model.id]
