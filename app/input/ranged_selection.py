"""Pages of what filters find, in an order whose values are parted into ranges.

Slices of the numbers of the ranges tell in which ones a page lies. Few rows there are sorted; where they are
many, the index is walked along, and what was not selected is left out.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import select

from app.core.extensions import db
from app.input.bit_slices import Ranked, SlicedNumbers, slice_numbers
from app.input.bitmaps import BYTES, SIZE, ListBitmaps, Selection, read_stored
from app.input.blocks import BLOCK_BITS, Block
from app.input.ranged_order import (
    MOST_LIVE,
    VERSION_BYTES,
    RangeBounds,
    number_ranges,
    read_bounds,
    stored_form,
)

MOST_NAMED = 10_000  # rows that are named by their ids, to be sorted alone


def sliced_name(order: str) -> str:
    return f"slices of {order}"


def slice_ranges(numbered: Iterable[tuple[int, int]], block: Block) -> bytes:
    """Slices of the numbers of the ranges, from 1. A row without a value has 0."""
    numbers, first_id = [0] * SIZE, block.first_id
    for id_, number in numbered:
        numbers[id_ - first_id] = number + 1
    return slice_numbers(numbers)


class RangedSelection:
    """The rows of a selection in the order of one column, then by id. Those without a value come first."""

    def __init__(
        self, bitmaps: ListBitmaps, order: str, model: Any, workspace_id: int, selection: Selection
    ) -> None:
        self.bitmaps, self.order, self.column, self.model = bitmaps, order, bitmaps.ranged[order], model
        self.workspace_id, self.selection = workspace_id, selection
        self.mine = model.workspace_id == workspace_id
        self.numbers = [block.number for block in selection.blocks]
        self.bounds = read_bounds(db.session, bitmaps, workspace_id, order)

    def read(self, page: tuple[int, int], *, rising: bool) -> list[int] | None:
        """The ids of a page, `page` being how many rows it skips (less than all) and the most that it has.
        None while the worker has not counted nearly all blocks."""
        stored = self.read_slices(self.bounds) if self.bounds is not None else None
        if stored is None:
            return None
        most = min(page[1], self.selection.size - page[0])
        start = page[0] if rising else self.selection.size - page[0] - most
        found = self.find(SlicedNumbers(stored, BYTES, VERSION_BYTES), start, most)
        return found if rising else found[::-1]

    def read_slices(self, bounds: RangeBounds) -> list[bytes] | None:
        """Those of all blocks that have selected rows."""
        found = {
            number: stored
            for _, number, stored in read_stored(self.bitmaps, self.workspace_id, [sliced_name(self.order)])
            if number not in self.selection.live and stored.startswith(bounds.version)
        }
        if sum(number not in found for number in self.numbers) > MOST_LIVE:
            return None
        return [found.get(number) or self.slice_block(number, bounds) for number in self.numbers]

    def slice_block(self, number: int, bounds: RangeBounds) -> bytes:
        """The slices of a block whose values must be read."""
        block = Block(number, 0)
        rows = [self.mine, self.model.id.between(block.first_id, block.last_id)]
        numbered = number_ranges(db.session, self.model.id, self.column, rows, bounds)
        return bounds.version + slice_ranges(numbered, block)

    def find(self, sliced: SlicedNumbers, start: int, most: int) -> list[int]:
        bits = self.selection.bits
        members = int.from_bytes(
            b"".join(bits[number].to_bytes(BYTES, "little") for number in self.numbers), "little"
        )
        first, last = sliced.ranked(members, [start, start + most - 1])
        found: list[int] = []
        if first.number == 0:  # rows without a value are in the order of their ids
            without = min(most, first.size - start)
            found = self.ids_at(sliced.places(members, start, without))
            start, most = first.size, most - without
            if most:
                first, last = sliced.ranked(members, [start, start + most - 1])
        if not most:
            return found
        size = last.before + last.size - first.before
        if size > MOST_NAMED:
            return found + self.walk(first, start - first.before, most)
        named = self.ids_at(sliced.places(members, first.before, size))
        in_order = select(self.model.id).where(self.model.id.in_(named)).order_by(self.column, self.model.id)
        return found + list(db.session.scalars(in_order.limit(most).offset(start - first.before)))

    def ids_at(self, places: Sequence[int]) -> list[int]:
        return [Block(self.numbers[place >> BLOCK_BITS], 0).first_id + place % SIZE for place in places]

    def walk(self, first: Ranked, skipped: int, most: int) -> list[int]:
        """The selected rows from the beginning of a range on, after `skipped` ones."""
        conditions = [self.mine, self.column.is_not(None)]
        if first.number > 1 and self.bounds is not None:
            conditions[1] = self.column >= stored_form(self.bounds.values[first.number - 2])
        by_column = self.column.asc()
        in_order = [by_column.nulls_first() if self.column.nullable else by_column, self.model.id]
        wanted = select(self.model.id).where(*conditions).order_by(*in_order)
        rows = db.session.connection().execute(wanted, execution_options={"yield_per": SIZE})
        bits, found = self.selection.bits, list[int]()
        for some in rows.partitions():
            found += [id_ for (id_,) in some if bits.get(id_ >> BLOCK_BITS, 0) >> (id_ % SIZE) & 1]
            if len(found) >= skipped + most:
                break
        rows.close()
        return found[skipped : skipped + most]
