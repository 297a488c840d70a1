"""How the worker makes the slices of clicks anew, round after round."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.input.sliced_order import TOTAL_BYTES, BlockGroup, group_of, slice_counts, total_of
from app.links.bitmaps.storage import lock, write
from app.links.bitmaps.tables import link_bitmap
from app.links.clicks import OF_RANGE
from app.links.models import link_block

CLICKS = "clicks"
TOTAL = select(func.sum(OF_RANGE.subquery().c.clicks))


def renew_clicks(session: Session, workspace_id: int) -> Iterator[None]:
    """Makes the slices anew of groups of blocks whose links were clicked, those with most new clicks first.

    Yields after each short piece of work, with no transaction open. (Clicks mark no blocks: that would be
    work on the way that must be fastest.)
    """
    wanted = select(link_bitmap.c.block, func.substr(link_bitmap.c.bits, 1, TOTAL_BYTES)).where(
        link_bitmap.c.workspace_id == workspace_id, link_bitmap.c.name == CLICKS
    )
    known = {number: total_of(stored) for number, stored in session.execute(wanted)}
    mine = link_block.c.workspace_id == workspace_id
    groups = {group_of(block) for block in session.scalars(select(link_block.c.block).where(mine))}
    session.rollback()
    changed: dict[int, int] = {}
    for number in sorted(groups):
        clicks = int(session.scalar(TOTAL, BlockGroup(number).ends) or 0)
        session.rollback()
        if clicks != known.get(number):
            changed[number] = abs(clicks - known.get(number, 0))
        yield
    for number in sorted(changed, key=lambda number: -changed[number]):
        make_slices(session, workspace_id, number)
        yield


def make_slices(session: Session, workspace_id: int, number: int) -> None:
    """Makes the slices of the clicks of one group of blocks, and commits."""
    if lock(session):
        stored = slice_counts(session, OF_RANGE, BlockGroup(number))
        write(session, workspace_id, {number: {CLICKS: stored}}, link_bitmap.c.name == CLICKS)
        session.commit()
