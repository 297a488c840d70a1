"""Pages in the order of a moment that mostly rises with the ids: found by the moments of whole blocks.

Blocks whose moments overlap are a cluster; most often each block is one by itself. All rows of a cluster come
before those of the next, so only those of the page's clusters are read.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sqlalchemy import select

from app.core.extensions import db
from app.input.bitmaps import ENDS, MOMENTS, ListBitmaps, ends_of, microseconds, offsets_of, read_stored
from app.input.blocks import Block
from app.input.selections import Selection

MOST = 10_000  # rows of the page's clusters, which are named by their ids

Place = tuple[int, int]  # in the order: a moment, and an id


class BlockMoments(NamedTuple):
    """Bounds of the places of a block's rows."""

    first: Place
    last: Place
    number: int

    @classmethod
    def of(cls, number: int, first: int, last: int) -> BlockMoments:
        """Of a block whose moments are from `first` to `last`."""
        block = Block(number, 0)
        return cls((first, block.first_id), (last, block.last_id), number)


def clusters(found: Iterable[BlockMoments]) -> Iterator[list[int]]:
    """The numbers of the blocks, by cluster in the order of the moments."""
    some: list[int] = []
    end = (0, 0)
    for block in sorted(found):
        if some and block.first > end:
            yield some
            some = []
        end = max(end, block.last) if some else block.last
        some.append(block.number)
    if some:
        yield some


def read_by_moment(
    bitmaps: ListBitmaps, workspace_id: int, selection: Selection, page: tuple[int, int], *, rising: bool
) -> list[int] | None:
    """The ids of a page, `page` being how many rows it skips (less than all) and the most that it has. None
    where the page's clusters have too many rows."""
    most = min(page[1], selection.size - page[0])
    start = page[0] if rising else selection.size - page[0] - most
    wanted: list[int] = []
    before = rows = 0
    for cluster in clusters(read_moments(bitmaps, workspace_id, selection)):
        size = sum(selection.bits[number].bit_count() for number in cluster)
        if not wanted and before + size <= start:
            before += size
            continue
        wanted += cluster
        rows += size
        if rows > MOST:
            return None
        if before + rows >= start + most:
            break
    ids = [Block(one, 0).first_id + offset for one in wanted for offset in offsets_of(selection.bits[one])]
    id_ = bitmaps.moment.class_.id
    in_order = select(id_).where(id_.in_(ids)).order_by(bitmaps.moment, id_)
    found = list(db.session.scalars(in_order.limit(most).offset(start - before)))
    return found if rising else found[::-1]


def read_moments(bitmaps: ListBitmaps, workspace_id: int, selection: Selection) -> Iterator[BlockMoments]:
    """The moments of the blocks that have selected rows. Those of a block may be some of rows that were not
    selected."""
    for _, number, stored in read_stored(bitmaps, workspace_id, [MOMENTS]):
        if number in selection.bits and number not in selection.live:
            yield BlockMoments.of(number, *ENDS.unpack(stored))
    model = bitmaps.moment.class_
    for number in selection.live:
        if number in selection.bits:
            block = Block(number, 0)
            ends = select(*ends_of(bitmaps.moment)).where(
                model.workspace_id == workspace_id, model.id.between(block.first_id, block.last_id)
            )
            yield BlockMoments.of(number, *map(microseconds, db.session.execute(ends).one()))
