"""Pages of what filters find, in an order whose values are parted into ranges.

Slices of the numbers of the ranges tell in which ones a page lies. Few rows there are sorted; where they are
many, the index is walked along, and what was not selected is left out.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select

from app.core.extensions import db
from app.input.bit_slices import SlicedNumbers, slice_numbers
from app.input.bitmaps import BYTES, SIZE, read_stored
from app.input.blocks import BLOCK_BITS, Block
from app.input.ranged_order import LONGEST_WALK, MOST_LIVE, VERSION_BYTES, RangeBounds, RangedColumn
from app.input.selections import Selection

MOST_NAMED = 10_000  # rows that are named by their ids, to be sorted alone
MOST_SORTED = 1000  # for more the index is tried first, if it has not many more entries there
ENTRIES = 32  # of the index are read in the time in which a row is looked up by its id


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

    def __init__(self, ranged: RangedColumn, selection: Selection) -> None:
        self.ranged, self.selection = ranged, selection
        self.numbers = [block.number for block in selection.blocks]

    def read(self, page: tuple[int, int], *, rising: bool) -> list[int] | None:
        """The ids of a page, `page` being how many rows it skips (less than all) and the most that it has.
        None while the worker has not counted nearly all blocks."""
        bounds = self.ranged.bounds(db.session)
        stored = self.read_slices(bounds) if bounds is not None else None
        if bounds is None or stored is None:
            return None
        most = min(page[1], self.selection.size - page[0])
        start = page[0] if rising else self.selection.size - page[0] - most
        found = self.find(SlicedNumbers(stored, BYTES, VERSION_BYTES), bounds, start, most)
        return found if rising or found is None else found[::-1]

    def read_slices(self, bounds: RangeBounds) -> list[bytes] | None:
        """Those of all blocks that have selected rows."""
        ranged, name = self.ranged, sliced_name(self.ranged.order)
        found = {
            number: stored
            for _, number, stored in read_stored(ranged.bitmaps, ranged.workspace_id, [name])
            if number not in self.selection.live and stored.startswith(bounds.version)
        }
        if sum(number not in found for number in self.numbers) > MOST_LIVE:
            return None
        return [found.get(number) or self.slice_block(Block(number, 0), bounds) for number in self.numbers]

    def slice_block(self, block: Block, bounds: RangeBounds) -> bytes:
        """The slices of a block whose values must be read."""
        return bounds.version + slice_ranges(self.ranged.number_ranges(db.session, block, bounds), block)

    def find(self, sliced: SlicedNumbers, bounds: RangeBounds, start: int, most: int) -> list[int] | None:
        """The ids of the `most` rows after `start` ones, lowest values first."""
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
        if size > MOST_SORTED:
            longest = LONGEST_WALK if size > MOST_NAMED else ENTRIES * size
            walked = self.walk(first.number - 1, bounds, (start - first.before, most), longest)
            if walked is not None:
                return found + walked
            if size > MOST_NAMED:
                return None
        named = self.ids_at(sliced.between(members, first, last))
        id_ = self.ranged.model.id
        in_order = select(id_).where(id_.in_(named)).order_by(self.ranged.column, id_)
        return found + list(db.session.scalars(in_order.limit(most).offset(start - first.before)))

    def ids_at(self, places: Sequence[int]) -> list[int]:
        return [Block(self.numbers[place >> BLOCK_BITS], 0).first_id + place % SIZE for place in places]

    def walk(self, which: int, bounds: RangeBounds, page: tuple[int, int], longest: int) -> list[int] | None:
        """A page of the selected rows from the beginning of a range on. None where more than `longest`
        entries would be read: very many rows may have the same value."""
        skipped, most = page
        wanted = self.ranged.from_range(which, bounds)
        rows = db.session.connection().execute(wanted, execution_options={"yield_per": SIZE})
        found = list[int]()
        for number, some in enumerate(rows.scalars().partitions()):
            if number > longest // SIZE:
                rows.close()
                return None
            found += filter(self.selection.has, some)
            if len(found) >= skipped + most:
                break
        rows.close()
        return found[skipped : skipped + most]
