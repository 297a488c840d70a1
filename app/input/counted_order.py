"""Pages in the order of a count that few rows of a long list have: the others come by their ids, at one end.

Most links of a very long list were never clicked. Those that were are read and sorted; how many of the others
lie where, the blocks of the list say.
"""

# see docs/decisions/2026-11-26-indexes-of-long-lists.md
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, FromClause, Subquery, func, literal, select

from app.core.extensions import db
from app.input.bitmaps import SIZE
from app.input.blocks import BLOCK_BITS, LEAST_OF_PART, Block, find_page_start
from app.input.selections import Selection

MOST = 50_000  # rows with a count: sorting them takes 0.1 s
NEAR = 10_000  # the first so many rows with a count are found without counting them


class CountedRows(NamedTuple):
    """Where the rows with a count are.

    `of_workspace`: the `id` and the `value`, above 0, of a workspace's rows that have one. `is_none`: the
    condition that a row has none. `tables`: those that hold the counts, of all workspaces. `of_range`: the
    query for the counts of the ids `first_id` to `last_id`. `of_ids`: the count of each of these ids.
    `bitmaps`: the name of those that have the counts as slices.
    """

    of_workspace: Callable[[int], Subquery]
    is_none: ColumnElement[bool]
    tables: Sequence[FromClause]
    of_range: Executable
    of_ids: Callable[[Sequence[int]], Mapping[int, int]]
    bitmaps: str

    def are_few(self, blocks: Sequence[Block]) -> bool:
        """Whether so few rows of a long list have a count that those can be sorted, and no other need be
        read."""
        return len(blocks) >= LEAST_OF_PART and not any(has_more(table, MOST) for table in self.tables)


def has_more(table: FromClause, rows: int) -> bool:
    return db.session.scalar(select(literal(1)).select_from(table).limit(1).offset(rows)) is not None


class CountedSelection:
    """What filters find of a long list by count, then by id, where few rows have a count."""

    def __init__(self, counted: CountedRows, workspace_id: int, selection: Selection) -> None:
        self.found, self.selection = counted.of_workspace(workspace_id).c, selection

    def read(self, page: tuple[int, int], *, rising: bool) -> list[int]:
        """The ids of a page, `page` being how many rows it skips (less than all) and the most that it has."""
        bits, taken = self.selection.bits, dict[int, int]()
        rows = db.session.connection().execute(select(self.found.value, self.found.id)).all()
        counted = sorted((row[0], row[1]) for row in rows if self.selection.has(row[1]))
        for _, id_ in counted:
            number = id_ >> BLOCK_BITS
            taken[number] = taken.get(number, 0) | 1 << (id_ % SIZE)
        others = Selection(
            {number: left for number, some in bits.items() if (left := some & ~taken.get(number, 0))}
        )
        most = min(page[1], self.selection.size - page[0])
        start = page[0] if rising else self.selection.size - page[0] - most
        ids = others.read(start, most, rising=True)
        first = max(0, start - others.size)
        ids += [id_ for _, id_ in counted[first : first + most - len(ids)]]
        return ids if rising else ids[::-1]


class CountedList:
    """A workspace's list by count, then by id, of which few rows have a count."""

    def __init__(
        self, model: Any, counted: CountedRows, workspace_id: int, blocks: Sequence[Block], *, rising: bool
    ) -> None:
        self.model, self.counted, self.workspace_id = model, counted, workspace_id
        self.blocks, self.rising = blocks, rising
        self.found = counted.of_workspace(workspace_id)

    def read(self, skipped: int, most: int) -> list[int]:
        """The ids of the first `most` rows after `skipped` ones. `skipped` must be less than all rows."""
        total = sum(block.size for block in self.blocks)
        most = min(most, total - skipped)
        higher = total - skipped - most if self.rising else skipped
        if higher < NEAR:
            ids = self.read_sorted(higher, most, rising=False)
            if len(ids) == most:  # so it does not matter where the others begin
                return ids[::-1] if self.rising else ids
        return self.read_both(skipped, most)

    def read_both(self, skipped: int, most: int) -> list[int]:
        """The same where the page may be among the rows without a count, or begin or end there."""
        sizes = self.read_sizes()
        others = [one._replace(size=max(0, one.size - sizes.get(one.number, 0))) for one in self.blocks]
        counted = sum(sizes.values())
        kinds = [
            (sum(one.size for one in others), partial(self.read_others, others)),
            (counted, partial(self.read_counted, counted)),
        ]
        ids: list[int] = []
        for size, read in kinds if self.rising else reversed(kinds):
            wanted = min(most - len(ids), size - skipped)
            if wanted > 0:
                ids += read(skipped, wanted)
            skipped = max(0, skipped - size)
        return ids

    def read_sizes(self) -> dict[int, int]:
        """How many rows of each block have a count."""
        block = (self.found.c.id // (1 << BLOCK_BITS)).label("block")
        rows = db.session.execute(select(block, func.count()).group_by(block))
        return {row[0]: row[1] for row in rows}

    def read_others(self, others: Sequence[Block], skipped: int, most: int) -> list[int]:
        start = find_page_start(others, skipped, rising=self.rising)
        id_ = self.model.id
        within = id_ >= start.first_id if self.rising else id_ <= start.last_id
        found = select(id_).where(self.model.workspace_id == self.workspace_id, within, self.counted.is_none)
        found = found.order_by(id_.asc() if self.rising else id_.desc())
        return list(db.session.scalars(found.limit(most).offset(start.offset)))

    def read_counted(self, size: int, skipped: int, most: int) -> list[int]:
        """What is skipped is kept in order, too, so it is read from where that is less."""
        if skipped < size // 2:
            return self.read_sorted(skipped, most, rising=self.rising)
        return self.read_sorted(size - skipped - most, most, rising=not self.rising)[::-1]

    def read_sorted(self, skipped: int, most: int, *, rising: bool) -> list[int]:
        rows = self.found.c
        by = [column.asc() if rising else column.desc() for column in (rows.value, rows.id)]
        return list(db.session.scalars(select(rows.id).order_by(*by).limit(most).offset(skipped)))
