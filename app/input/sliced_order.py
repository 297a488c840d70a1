"""Pages in the order of a count that very many rows have: found in slices of the counts, without sorting.

The worker makes the slices; counts that have changed since are in their new place after its next round. Each
page is in order by itself at any time, and no row is on two pages of one round.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Executable

from app.core.database import AnySession
from app.core.extensions import db
from app.input.bit_slices import SlicedNumbers, slice_numbers
from app.input.bitmaps import BYTES, ListBitmaps, read_stored
from app.input.blocks import BLOCK_BITS
from app.input.counted_order import CountedRows
from app.input.selections import Selection

GROUP_BITS = 4  # blocks of a group: fewer and larger rows are read in half the time
TOTAL_BYTES = 8  # before the slices of a group: the sum of the counts they were made of
MOST_LIVE = 1  # groups without slices, whose counts are read, each some 40 ms


class BlockGroup(NamedTuple):
    """Sixteen consecutive blocks of ids."""

    number: int

    @property
    def first_id(self) -> int:
        return self.number << (BLOCK_BITS + GROUP_BITS)

    @property
    def ends(self) -> dict[str, int]:
        """The bound parameters of queries for its ids."""
        return {"first_id": self.first_id, "last_id": BlockGroup(self.number + 1).first_id - 1}


SIZE = BlockGroup(1).first_id


def group_of(block: int) -> int:
    return block >> GROUP_BITS


def slice_counts(session: AnySession, wanted: Executable, group: BlockGroup) -> bytes:
    """The sum of a group's counts, and their slices. `wanted`: the query for ids and counts in a range of
    ids; an id that it finds twice has the sum."""
    numbers, first_id = [0] * SIZE, group.first_id
    for id_, count in session.execute(wanted, group.ends):
        numbers[id_ - first_id] += count
    return sum(numbers).to_bytes(TOTAL_BYTES, "little") + slice_numbers(numbers)


def total_of(stored: Any) -> int:
    return int.from_bytes(stored[:TOTAL_BYTES], "little")


def read_sliced(
    counted: CountedRows,
    bitmaps: ListBitmaps,
    workspace_id: int,
    selection: Selection,
    page: tuple[int, int],
    *,
    rising: bool,
) -> list[int] | None:
    """The ids of a page, `page` being how many rows it skips (less than all) and the most that it has. None
    while the worker has not made the slices."""
    sliced = SlicedList(bitmaps, counted, workspace_id, selection)
    return sliced.read(*page, rising=rising) if sliced.is_ready() else None


class SlicedList:
    """The rows of a selection by count, then by id."""

    def __init__(
        self, bitmaps: ListBitmaps, counted: CountedRows, workspace_id: int, selection: Selection
    ) -> None:
        self.counted, self.selection = counted, selection
        self.groups = sorted({group_of(block.number) for block in selection.blocks})
        self.stored = {
            number: stored for _, number, stored in read_stored(bitmaps, workspace_id, [counted.bitmaps])
        }

    def is_ready(self) -> bool:
        """Whether the worker has made nearly all slices."""
        return sum(number not in self.stored for number in self.groups) <= MOST_LIVE

    def read(self, skipped: int, most: int, *, rising: bool) -> list[int]:
        """The ids of the first `most` rows after `skipped` ones. `skipped` must be less than all rows."""
        sliced = SlicedNumbers([self.slices_of(one) for one in self.groups], SIZE // 8, TOTAL_BYTES)
        size = self.selection.size
        most = min(most, size - skipped)
        start = skipped if rising else size - skipped - most
        places = sliced.places(self.members(), start, most)
        ids = [BlockGroup(self.groups[place // SIZE]).first_id + place % SIZE for place in places]
        counts = self.counted.of_ids(ids)
        return sorted(ids, key=lambda id_: (counts[id_], id_), reverse=not rising)

    def members(self) -> int:
        """The places of the selected rows."""
        bits, nothing = self.selection.bits, bytes(BYTES)
        numbers = [number << GROUP_BITS | block for number in self.groups for block in range(1 << GROUP_BITS)]
        parts = [bits[one].to_bytes(BYTES, "little") if one in bits else nothing for one in numbers]
        return int.from_bytes(b"".join(parts), "little")

    def slices_of(self, number: int) -> bytes:
        stored = self.stored.get(number)
        return stored or slice_counts(db.session, self.counted.of_range, BlockGroup(number))
