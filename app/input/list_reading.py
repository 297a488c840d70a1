"""Ways to read a page of a list: how many rows its filters find is known, and which are on the page.

Short lists are counted and sorted by the database. For lists that may be very long there are blocks, bitmaps,
slices and ranges, each described in its module.
"""

# see docs/decisions/2026-11-26-indexes-of-long-lists.md, 2026-11-26-bitmaps-of-links.md
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import inf
from typing import Generic

from sqlalchemy import ColumnElement

from app.input.bitmaps import ListBitmaps
from app.input.blocks import Block, CountBound, ListPart, find_page_start, read_blocks
from app.input.counted_order import CountedList, CountedSelection
from app.input.moment_order import read_by_moment
from app.input.page_reading import (
    Listing,
    Reach,
    Row,
    count,
    count_parts,
    read_from_nearer_end,
    read_ids,
)
from app.input.params import QueryParams, values_of
from app.input.ranged_order import RangedColumn, RangedList
from app.input.ranged_selection import MOST_NAMED, RangedSelection
from app.input.selections import RowReader, Selection, select_rows
from app.input.sliced_order import read_sliced

NOT = "not"  # names the filters whose values are those that a row must not have
COUNT_ALL = CountBound(0, inf, rising=True)
NEAR = 100_000  # rows from an end of a list, where walking to them takes no time


class ListReading(Generic[Row]):
    """What filters find of a list, and the ways to read a page of it in an order.

    `conditions`: the first says whose the rows are. Where bitmaps can't say what the others find
    (`selection`), it is counted by `parts` of the list. `total`: how many rows were found; there may be more
    where not `is_all` was searched, because `until` says that these are enough.
    """

    def __init__(
        self,
        listing: Listing[Row],
        workspace_id: int,
        params: QueryParams,
        conditions: Sequence[ColumnElement[bool]],
        order: tuple[str, bool],
        until: CountBound,
    ) -> None:
        self.listing, self.workspace_id = listing, workspace_id
        # another order has to know all rows
        self.until = until if listing.is_by_id(order[0]) else COUNT_ALL
        self.conditions, self.order, self.is_rising = conditions, order, order[1]
        self.blocks = read_blocks(listing.blocks, workspace_id) if listing.blocks is not None else []
        self.is_whole = len(conditions) == 1
        self.counted = listing.counted.get(order[0])
        self.are_few_counted = self.counted is not None and self.counted.are_few(self.blocks)
        self.selection: Selection | None = None
        # of the whole list only where very many rows of it have a count
        if listing.bitmaps is not None and not (self.is_whole and (not self.counted or self.are_few_counted)):
            self.selection = self.select(listing.bitmaps, params)
        self.parts: Sequence[Block | ListPart] = ()
        self.is_all = True
        if self.selection is not None:
            self.total, self.is_all = self.selection.size, self.selection.is_all
        else:
            self.parts, self.is_all = count_parts(listing, self.blocks, params, conditions, self.until)
            self.total = sum(part.size for part in self.parts) if self.parts else count(listing, conditions)

    def select(self, bitmaps: ListBitmaps, params: QueryParams) -> Selection | None:
        """What the filters find."""
        asked = [name for name in self.listing.filters if params.get(name)]
        excluded = values_of(params[NOT]) if self.listing.several and params.get(NOT) else ()
        rows = RowReader(self.listing.model, self.conditions)
        return select_rows(bitmaps, self.workspace_id, params, asked, excluded, self.blocks, rows, self.until)

    def read(self, skipped: int, size: int) -> Sequence[int]:
        """The ids of a page. `skipped` must be less than all rows."""
        page, ids = (skipped, size), None
        if self.selection is not None:
            return self.read_selected(self.selection, page)
        if self.is_whole and self.counted is not None and self.are_few_counted:
            model, rising = self.listing.model, self.is_rising
            return CountedList(model, self.counted, self.workspace_id, self.blocks, rising=rising).read(*page)
        if not self.is_all or (len(self.parts) > 1 and self.listing.is_by_id(self.order[0])):
            return self.read_by_id(skipped, size)
        if self.is_whole and self.listing.bitmaps is not None and self.is_far(skipped):
            ids = self.read_far(self.listing.bitmaps, page)
        return self.read_in_order(skipped, size) if ids is None else ids

    def is_far(self, skipped: int) -> bool:
        """Whether it takes long to walk to a row from either end."""
        return min(skipped, self.total - skipped) > NEAR

    def read_far(self, bitmaps: ListBitmaps, page: tuple[int, int]) -> Sequence[int] | None:
        """A page of the whole list, far from both ends. None where bitmaps do not tell."""
        rising, ranged, ids = self.is_rising, self.ranged(bitmaps), None
        if ranged is not None and ranged.column is bitmaps.moment:
            everything = self.select(bitmaps, {})
            if everything is not None:
                ids = read_by_moment(bitmaps, self.workspace_id, everything, page, rising=rising)
        if ids is None and ranged is not None:
            ids = RangedList(ranged, self.blocks).read(page, rising=rising)
        return ids

    def ranged(self, bitmaps: ListBitmaps) -> RangedColumn | None:
        """The column of this order, if its values are parted into ranges."""
        if self.order[0] not in bitmaps.ranged:
            return None
        return RangedColumn(bitmaps, self.order[0], self.listing.model, self.workspace_id)

    def read_selected(self, selection: Selection, page: tuple[int, int]) -> Sequence[int]:
        if self.listing.is_by_id(self.order[0]):
            return selection.read(*page, rising=self.is_rising)
        ids = self.read_by_bitmaps(self.listing.bitmaps, selection, page) if self.listing.bitmaps else None
        return_freed_memory()  # slices of a very long list are some 30 MB
        return self.read_otherwise(selection, page) if ids is None else ids

    def read_by_bitmaps(
        self, bitmaps: ListBitmaps, selection: Selection, page: tuple[int, int]
    ) -> Sequence[int] | None:
        """A page in an order that bitmaps tell, None where they do not."""
        rising, ids = self.is_rising, None
        if self.counted is not None and self.are_few_counted:
            return CountedSelection(self.counted, self.workspace_id, selection).read(page, rising=rising)
        if self.counted is not None:
            return read_sliced(self.counted, bitmaps, self.workspace_id, selection, page, rising=rising)
        if self.listing.orders[self.order[0]] is bitmaps.moment:
            ids = read_by_moment(bitmaps, self.workspace_id, selection, page, rising=rising)
        ranged = self.ranged(bitmaps)
        if ids is None and ranged is not None and selection.size > MOST_NAMED:
            ids = RangedSelection(ranged, selection).read(page, rising=rising)
        return ids

    def read_otherwise(self, selection: Selection, page: tuple[int, int]) -> Sequence[int]:
        """A page in another order: of few rows these are sorted."""
        self.parts = selection.blocks
        if not self.is_whole and selection.size <= MOST_NAMED:
            ids = selection.read(0, selection.size, rising=True)
            self.conditions = [self.conditions[0], self.listing.model.id.in_(ids)]
        return self.read_in_order(*page)

    def read_by_id(self, skipped: int, size: int) -> Sequence[int]:
        start = find_page_start(self.parts, skipped, rising=self.is_rising)
        id_ = self.listing.model.id
        within = id_ >= start.first_id if self.is_rising else id_ <= start.last_id
        return read_ids(self.listing, self.order, [*self.conditions, within], start.offset, size)

    def read_in_order(self, skipped: int, size: int) -> Sequence[int]:
        whole = 0 if self.is_whole else sum(block.size for block in self.blocks)
        reach = Reach(skipped, size, self.total, whole)
        return read_from_nearer_end(
            self.listing, self.order, self.conditions, self.parts, reach, self.workspace_id
        )


LIBRARY = ctypes.CDLL(None)


def return_freed_memory() -> None:
    """Has glibc return what is free; another C library is left as it is. It would keep up to 100 MB for each
    thread that has read a page of a very long list once."""
    trim = getattr(LIBRARY, "malloc_trim", None)
    if trim is not None:
        trim(0)
