"""Counts of an owner's rows by block of ids: the total of a long list, and any page of it, in a few steps.

A database finds the eight millionth row of a list by reading all rows before it. A block is 4,096 consecutive
ids; triggers keep how many rows of an owner lie in each. A page is found by adding up some thousand counts
and reading one block. What a filter finds is counted by parts of the list, each some blocks long, so that a
page is found by reading one part.
"""

# see docs/decisions/2026-11-25-blocks-of-links.md, 2026-11-26-indexes-of-long-lists.md
from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple, TypeVar

from sqlalchemy import Table, select

from app.core.extensions import db

Part = TypeVar("Part")

PARTS = 16  # of a long list: a far page reads at most one, and each is a query
BOUNDED_PARTS = 256  # where counting may end after any of them
LEAST_OF_PART = 16  # blocks: more queries would take longer than they save
BLOCK_BITS = 12  # as the triggers have it: app/migrations/versions/20261125_blocks_of_links_7e4b09c2d5a1.py


class Block(NamedTuple):
    """The number of an owner's rows whose ids have `number` above their lowest twelve bits."""

    number: int
    size: int

    @property
    def first_id(self) -> int:
        return self.number << BLOCK_BITS

    @property
    def last_id(self) -> int:
        return self.first_id + (1 << BLOCK_BITS) - 1

    @property
    def ends(self) -> Mapping[str, int]:
        """The bound parameters of queries for its ids."""
        return {"first_id": self.first_id, "last_id": self.last_id}


class ListPart(NamedTuple):
    """The number of an owner's rows with these ids, or of those that a filter finds."""

    first_id: int
    last_id: int
    size: int


class CountBound:
    """Says when enough of what a search finds is counted: the page is full, and the time is over.

    `enough`: rows, up to the end of the page and one more. `rising`: from which end the list is read.
    """

    def __init__(self, enough: int, seconds: float, *, rising: bool) -> None:
        self.enough, self.rising = enough, rising
        self.is_bounded = seconds < inf
        self.deadline = time.monotonic() + seconds

    def is_met(self, found: int) -> bool:
        return found >= self.enough and time.monotonic() >= self.deadline

    def in_order(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Parts of the list, given in the order of ids, as they are read."""
        return parts if self.rising else parts[::-1]


class PageStart(NamedTuple):
    """Where a page begins: among the ids from the first of a block to its last, so many rows further on."""

    first_id: int
    last_id: int
    offset: int


def read_blocks(table: Table, workspace_id: int) -> list[Block]:
    """The owner's blocks that have rows, lowest ids first."""
    wanted = (
        select(table.c.block, table.c.size)
        .where(table.c.workspace_id == workspace_id)
        .order_by(table.c.block)
    )
    return [Block(*row) for row in db.session.execute(wanted)]


def split(blocks: Sequence[Block], most: int) -> list[ListPart]:
    """The owner's blocks as at most `most` parts that follow one another, each about as long."""
    length = max(LEAST_OF_PART, -(-len(blocks) // most))
    some = [blocks[start : start + length] for start in range(0, len(blocks), length)]
    return [ListPart(each[0].first_id, each[-1].last_id, sum(one.size for one in each)) for each in some]


def find_page_start(blocks: Sequence[Block | ListPart], skipped: int, *, rising: bool) -> PageStart:
    """The block after `skipped` rows, counted from the lowest id (`rising`) or the highest.

    `skipped` must be less than the number of all rows.
    """
    for block in blocks if rising else reversed(blocks):
        if skipped < block.size:
            return PageStart(block.first_id, block.last_id, skipped)
        skipped -= block.size
    raise IndexError(skipped)
