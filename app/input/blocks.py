"""Counts of an owner's rows by block of ids: the total of a long list, and any page of it, in a few steps.

A database finds the eight millionth row of a list by reading all rows before it. A block is 4,096 consecutive
ids; triggers keep how many rows of an owner lie in each. A page is found by adding up some thousand counts
and reading one block.
"""

# see docs/decisions/2026-11-25-blocks-of-links.md
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Table, select

from app.core.extensions import db

BLOCK_BITS = 12  # as the triggers have it: app/migrations/versions/20261125_blocks_of_links_7e4b09c2d5a1.py


class Block(NamedTuple):
    """The number of an owner's rows whose ids have `number` above their lowest twelve bits."""

    number: int
    size: int


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


def find_page_start(blocks: Sequence[Block], skipped: int, *, rising: bool) -> PageStart:
    """The block after `skipped` rows, counted from the lowest id (`rising`) or the highest.

    `skipped` must be less than the number of all rows.
    """
    for block in blocks if rising else reversed(blocks):
        if skipped < block.size:
            first = block.number << BLOCK_BITS
            return PageStart(first, first + (1 << BLOCK_BITS) - 1, skipped)
        skipped -= block.size
    raise IndexError(skipped)
