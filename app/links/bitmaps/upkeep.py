"""How the worker makes the bitmaps of links anew, of the blocks that have changed.

Only long lists have bitmaps; in short ones reading the links takes no time.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.core import clock
from app.core.database import begin_write
from app.input.bitmaps import ALL, microseconds
from app.input.blocks import LEAST_OF_PART, Block
from app.links.bitmaps.clicks import CLICKS
from app.links.bitmaps.contents import describe
from app.links.bitmaps.ranges import bounds_of
from app.links.bitmaps.states import UNTIL
from app.links.bitmaps.storage import lock, write
from app.links.bitmaps.tables import link_bitmap, stale_bitmap
from app.links.models import link_block

BLOCKS_AT_ONCE = 4  # in one transaction, each some 10 ms: others must be able to write in between


def long_lists(session: Session) -> Sequence[int]:
    """The workspaces that have bitmaps."""
    workspace_id = link_block.c.workspace_id
    return session.scalars(
        select(workspace_id).group_by(workspace_id).having(func.count() >= LEAST_OF_PART)
    ).all()


def forget_others(session: Session, workspaces: Sequence[int]) -> None:
    """Removes the bitmaps and the marks of workspaces whose lists are short, and commits."""
    is_other = [table.c.workspace_id.not_in(workspaces) for table in (link_bitmap, stale_bitmap)]
    tables = (link_bitmap, stale_bitmap)
    if not any(
        session.scalar(select(1).select_from(table).where(other).limit(1))
        for table, other in zip(tables, is_other, strict=True)
    ):
        return
    begin_write(session)
    for table, other in zip(tables, is_other, strict=True):
        session.execute(delete(table).where(other))
    session.commit()


def missing_blocks(session: Session, workspace_id: int) -> set[int]:
    """The blocks of which no bitmaps were made yet."""
    has = select(link_bitmap.c.block).where(
        link_bitmap.c.workspace_id == workspace_id, link_bitmap.c.name == ALL
    )
    wanted = select(link_block.c.block).where(
        link_block.c.workspace_id == workspace_id, link_block.c.block.not_in(has)
    )
    return set(session.scalars(wanted))


def stale_blocks(session: Session, workspace_id: int) -> list[int]:
    """The blocks that have changed, also those in which a link's state has changed by itself."""
    wanted = select(stale_bitmap.c.block).where(stale_bitmap.c.workspace_id == workspace_id)
    now = microseconds(clock.now())
    of_states = link_bitmap.c.workspace_id == workspace_id, link_bitmap.c.name == UNTIL
    ends = session.execute(select(link_bitmap.c.block, link_bitmap.c.bits).where(*of_states)).all()
    over = {number for number, until in ends if int.from_bytes(until, "little") <= now}
    return sorted(over.union(session.scalars(wanted)))


def make_bitmaps(session: Session, workspace_id: int, numbers: Sequence[int]) -> bool:
    """Makes the bitmaps of some blocks, and commits. A change meanwhile leaves its block stale.

    Returns false, and does nothing, while another machine makes some.
    """
    if not lock(session):
        return False
    # before the links: what changes them from here on adds a mark that is not removed
    is_here = stale_bitmap.c.workspace_id == workspace_id, stale_bitmap.c.block.in_(numbers)
    seen = session.scalars(select(stale_bitmap.c.id).where(*is_here)).all()
    bounds = bounds_of(session, workspace_id)
    described = {number: describe(session, workspace_id, Block(number, 0), bounds) for number in numbers}
    write(session, workspace_id, described, link_bitmap.c.name != CLICKS)
    session.execute(delete(stale_bitmap).where(stale_bitmap.c.id.in_(seen)))
    session.commit()
    return True
