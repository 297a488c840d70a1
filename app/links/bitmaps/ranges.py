"""Bounds that part the values of a list's orders into ranges, by which each block's values are counted."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from sqlalchemy import String, Text, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from app.input.bitmaps import ALL
from app.input.blocks import Block
from app.input.ranged_order import (
    OF_LIST,
    RANGES,
    VERSION_BYTES,
    RangeBounds,
    RangedColumn,
    bounds_name,
    plain,
)
from app.links.bitmaps.storage import lock, write
from app.links.bitmaps.tables import BITMAPS, link_bitmap
from app.links.models import Link, link_block

SAMPLE = 4096  # links by whose values a list is parted into ranges
LONGEST_RANGE = 250_000  # rows: walking to its middle takes a few milliseconds
UNEVEN = 16  # times as long as the mean may a range become


def bounds_of(session: Session, workspace_id: int) -> dict[str, RangeBounds]:
    """The bounds of the list's orders, as far as there are any."""
    found = {
        order: RangedColumn(BITMAPS, order, Link, workspace_id).bounds(session) for order in BITMAPS.ranged
    }
    return {order: bounds for order, bounds in found.items() if bounds is not None}


def set_bounds(session: Session, workspace_id: int) -> bool:
    """Chooses bounds for orders that have none, or in which one range has become far longer than others.
    Commits. Returns whether any is new: then all blocks have to be counted."""
    known = bounds_of(session, workspace_id)
    wanted = {
        order: choose_bounds(session, workspace_id, column)
        for order, column in BITMAPS.ranged.items()
        if order not in known or is_uneven(session, workspace_id, order, known[order])
    }
    rows = {bounds_name(order): some.dump() for order, some in wanted.items() if some != known.get(order)}
    if not rows or not lock(session):
        session.rollback()
        return False
    write(session, workspace_id, {OF_LIST: rows}, link_bitmap.c.name.in_(rows))
    session.commit()
    return True


def is_uneven(session: Session, workspace_id: int, order: str, bounds: RangeBounds) -> bool:
    """Whether a range has so many rows that walking to its middle takes long."""
    of_order = link_bitmap.c.workspace_id == workspace_id, link_bitmap.c.name == order
    total = 0
    for stored in session.scalars(select(link_bitmap.c.bits).where(*of_order)):
        if stored.startswith(bounds.version):
            total += int.from_bytes(stored[VERSION_BYTES:], "little")
    sizes = array("I", total.to_bytes(4 * RANGES, "little"))
    return max(sizes) > max(LONGEST_RANGE, sum(sizes) * UNEVEN // RANGES)


def choose_bounds(session: Session, workspace_id: int, column: Any) -> RangeBounds:
    """Bounds that part the list about evenly, by some of its links."""
    mine = link_block.c.workspace_id == workspace_id
    numbers = session.scalars(select(link_block.c.block).where(mine).order_by(link_block.c.block)).all()
    some = [Block(number, 0) for number in numbers[:: max(1, len(numbers) // SAMPLE)]]
    values: list[Any] = []
    for block in some:
        is_here = Link.workspace_id == workspace_id, Link.id.between(block.first_id, block.last_id)
        found = select(column).where(*is_here).order_by(Link.id).limit(-(-SAMPLE // len(some)))
        values += [value for value in session.scalars(found) if value is not None]
    values = in_database_order(session, values) if isinstance(column.type, String) else sorted(values)
    if not values:
        return RangeBounds.of([])
    parts = [plain(values[number * len(values) // RANGES]) for number in range(1, RANGES)]
    return RangeBounds.of(list(dict.fromkeys(parts)))


def in_database_order(session: Session, texts: Sequence[str]) -> list[str]:
    """As the index has them: SQLite by code point, PostgreSQL as its database was made."""
    if session.get_bind().dialect.name == "sqlite":
        return sorted(texts)
    value = func.unnest(cast(texts, ARRAY(Text))).column_valued("value")
    return list(session.scalars(select(value).order_by(value)))


def uncounted_blocks(session: Session, workspace_id: int) -> set[int]:
    """The blocks that have bitmaps, and of which no values were counted by the bounds of today."""
    here = link_bitmap.c.workspace_id == workspace_id
    blocks = set(session.scalars(select(link_bitmap.c.block).where(here, link_bitmap.c.name == ALL)))
    found: set[int] = set()
    for order, bounds in bounds_of(session, workspace_id).items():
        version = func.substr(link_bitmap.c.bits, 1, VERSION_BYTES)
        wanted = select(link_bitmap.c.block).where(
            here, link_bitmap.c.name == order, version == bounds.version
        )
        found |= blocks - set(session.scalars(wanted))
    return found
