"""How the worker makes the slices of clicks anew, round after round."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.core import clock
from app.input.bitmaps import SIZE, decode, name_of
from app.input.blocks import BLOCK_BITS, Block
from app.input.sliced_order import TOTAL_BYTES, BlockGroup, group_of, slice_counts, total_of
from app.links.bitmaps.contents import IS_HERE
from app.links.bitmaps.states import LIMITED, STATE, STORED_STATE
from app.links.bitmaps.storage import lock, mark, write
from app.links.bitmaps.tables import link_bitmap
from app.links.clicks import OF_RANGE
from app.links.models import Link, link_block

CLICKS = "clicks"
REACHED = select(Link.id).where(*IS_HERE, STORED_STATE == "limit")
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
        group = BlockGroup(number)
        stored = slice_counts(session, OF_RANGE, group)
        reached = late_reached_links(session, workspace_id, group)
        write(session, workspace_id, {number: {CLICKS: stored}}, link_bitmap.c.name == CLICKS)
        for link_id in reached:
            mark(session, link_id)
        session.commit()


def late_reached_links(session: Session, workspace_id: int, group: BlockGroup) -> list[int]:
    """One link of each block in which a limit was reached without a visit that marks the block: by visits
    from before the link had a limit, which were counted late."""
    first, last = (end >> BLOCK_BITS for end in group.ends.values())
    wanted = select(link_bitmap.c.block, link_bitmap.c.bits).where(
        link_bitmap.c.workspace_id == workspace_id,
        link_bitmap.c.name == name_of(STATE, LIMITED),
        link_bitmap.c.block.between(first, last),
    )
    found: list[int] = []
    for number, stored in session.execute(wanted).all():
        here = {"workspace_id": workspace_id, "now": clock.now(), **Block(number, 0).ends}
        limited = decode(stored)
        found += [id_ for id_ in session.scalars(REACHED, here) if limited >> (id_ % SIZE) & 1][:1]
    return found
