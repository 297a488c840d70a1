"""Selections: the rows of a long list that filters find, by bitmaps, and by reading where these can't say."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, select

from app.core.extensions import db
from app.input.bitmaps import (
    ALL,
    ENDS,
    MOMENTS,
    SIZE,
    UNKNOWN,
    Bits,
    ListBitmaps,
    MomentBound,
    both,
    either,
    name_of,
    of_offsets,
    offsets_of,
    read_bitmaps,
    read_stale,
    read_stored,
    without,
)
from app.input.blocks import BLOCK_BITS, LEAST_OF_PART, Block, CountBound
from app.input.params import QueryParams, values_of

MOST_LIVE = 64  # blocks whose rows are read, each 1 to 2 ms; beyond that the whole list is read in one go
SEARCHED_PART = 4  # of the blocks a fourth is searched at most: it takes 1.5 to 5 ms each, counting 1 ms


class Selection:
    """What filters find of a workspace's list: any part of it in the order of ids, and how much it is."""

    def __init__(self, bits: Bits, live: Collection[int] = (), *, is_all: bool = True) -> None:
        """`live`: the blocks whose rows were read, for their bitmaps can't be used. `is_all`: whether the
        whole list was searched."""
        self.bits, self.live, self.is_all = bits, live, is_all
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
    until: CountBound,
) -> Selection | None:
    """What the filters `asked` find with the values in `params`, and without those of the `excluded` ones.
    Searches go on `until` that is enough.

    None where bitmaps can't say: the list is short, a filter has none, or too many are stale.
    """
    if len(blocks) < LEAST_OF_PART or not bitmaps.can_answer(asked):
        return None
    live = read_stale(bitmaps, workspace_id)  # first: what is made anew from here on is not stale
    everything = read_bitmaps(bitmaps, workspace_id, [ALL]).get(ALL, {})
    numbers = {block.number for block in blocks}
    live |= numbers - everything.keys()
    if len(live & numbers) > MOST_LIVE:
        return None
    found = filter_rows(bitmaps, workspace_id, params, asked, excluded, everything, live)
    live &= numbers
    if len(live) > MOST_LIVE:
        return None
    found = {number: bits for number, bits in found.items() if number in numbers and number not in live}
    read: Set[int] = live
    if texts := [name for name in asked if name in bitmaps.searched]:
        candidates = find_candidates(bitmaps, workspace_id, params, texts, found)
        if len(candidates) > len(blocks) // SEARCHED_PART:
            return None
        return search(rows, [block for block in blocks if block.number in live | candidates], live, until)
    found |= {block.number: rows.read(block) for block in blocks if block.number in read}
    return Selection({number: bits for number, bits in found.items() if bits}, live)


def search(rows: RowReader, blocks: Sequence[Block], live: Collection[int], until: CountBound) -> Selection:
    """What is found in these blocks, or in the first of them `until` that is enough."""
    found, size, is_all = Bits(), 0, True
    for number, block in enumerate(until.in_order(blocks), 1):
        if bits := rows.read(block):
            found[block.number] = bits
            size += bits.bit_count()
        if until.is_met(size):
            is_all = number == len(blocks)
            break
    return Selection(found, live, is_all=is_all)


def filter_rows(
    bitmaps: ListBitmaps,
    workspace_id: int,
    params: QueryParams,
    asked: Iterable[str],
    excluded: Iterable[str],
    everything: Bits,
    live: set[int],
) -> Bits:
    """What all filters find that do not search. Adds to `live` the blocks that have to be read."""
    found = {number: bits for number, bits in everything.items() if number not in live}
    for name in asked:
        if name in bitmaps.moments:
            found = between(bitmaps, workspace_id, bitmaps.moments[name](params[name]), found, live)
        elif name not in bitmaps.ignored and name not in bitmaps.searched:
            compute = bitmaps.computed.get(name, partial(read_any, name))
            bits = compute(bitmaps, workspace_id, values_of(params[name]), live)
            found = without(found, bits) if name in excluded else both(found, bits)
    return found


def find_candidates(
    bitmaps: ListBitmaps, workspace_id: int, params: QueryParams, names: Iterable[str], found: Bits
) -> Set[int]:
    """The blocks that may have rows which the searches find, of those that have rows which all other filters
    find."""
    numbers: Set[int] = {number for number, bits in found.items() if bits}
    for name in names:
        numbers = bitmaps.searched[name](bitmaps, workspace_id, params[name], numbers)
    return numbers


def read_any(
    name: str,
    bitmaps: ListBitmaps,
    workspace_id: int,
    values: Sequence[str],
    live: set[int],
) -> Bits:
    """The rows with one of a filter's values. Adds to `live` the blocks in which it has too many."""
    unknown = name_of(name, UNKNOWN)
    names = {name_of(name, bitmaps.values[name](value)) for value in values}
    found = read_bitmaps(bitmaps, workspace_id, [*names, unknown])
    live.update(found.pop(unknown, {}))
    return either(found.values())


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
