"""Stored bitmaps are replaced by one machine at a time."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select
from sqlalchemy.orm import Session

from app.core.database import AnySession, begin_write
from app.input.blocks import BLOCK_BITS
from app.links.bitmaps.tables import link_bitmap, stale_bitmap
from app.links.models import Link

MARK = insert(stale_bitmap).from_select(
    ["workspace_id", "block"],
    select(Link.workspace_id, Link.id // (1 << BLOCK_BITS)).where(Link.id == bindparam("link_id")),
)
ONE_AT_A_TIME = 7262312  # the number of an advisory lock in PostgreSQL


def mark(session: AnySession | Connection, link_id: int) -> None:
    """Has the bitmaps of a link's block made anew, for what no trigger sees. Does not commit."""
    session.execute(MARK, {"link_id": link_id})


def lock(session: Session) -> bool:
    """Whether no other machine makes bitmaps, until the end of the transaction. Of two that do, one could
    leave behind what it read before the other, which has removed the marks that tell."""
    session.rollback()
    if session.get_bind().dialect.name == "sqlite":  # has one machine
        return True
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(ONE_AT_A_TIME))))


def write(
    session: Session,
    workspace_id: int,
    described: Mapping[int, Mapping[str, bytes]],
    *which: ColumnElement[bool],
) -> None:
    """Replaces bitmaps of blocks, all those that meet the conditions. Does not commit."""
    if session.get_bind().dialect.name == "sqlite":  # on PostgreSQL this would let go of the lock
        begin_write(session)
    here = link_bitmap.c.workspace_id == workspace_id
    session.execute(delete(link_bitmap).where(here, link_bitmap.c.block.in_(described), *which))
    rows = [
        {"workspace_id": workspace_id, "name": name, "block": number, "bits": bits}
        for number, some in described.items()
        for name, bits in some.items()
    ]
    if rows:
        session.execute(insert(link_bitmap), rows)
