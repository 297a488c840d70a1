"""The states of links by bitmaps. What depends on clicks or on checks of destinations is looked up."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, bindparam, case, func, select

from app.core import clock
from app.core.database import UtcDateTime
from app.core.extensions import db
from app.input.bitmaps import (
    Bits,
    ListBitmaps,
    both,
    decode,
    either,
    microseconds,
    name_of,
    of_offsets,
    offsets_of,
    read_stored,
    without,
)
from app.input.blocks import BLOCK_BITS, Block
from app.links.clicks import CLICKS
from app.links.destination_checks import FAILED
from app.links.models import Link

STATE, UNTIL = "state", "until"  # the second has the moment until which a block's states hold
LIMITED = "limited"  # links that are active until their limit is reached
MOST_LOOKED_UP = 10_000  # links with a limit, and links that fail: each takes some microseconds

NOW = bindparam("now", type_=UtcDateTime)
LATER = (
    case((Link.schedule & (Link.start_date > NOW), Link.start_date)),
    case((Link.schedule & (Link.end_date > NOW), Link.end_date)),
)
# the first moment of a block's links at which a state changes by itself
NEXT_CHANGES = tuple(func.min(moment) for moment in LATER)
# checked in the order of the redirect, as `state_word` of the dashboard does
STORED_STATE: ColumnElement[str | None] = case(
    (~Link.is_enabled, "off"),
    (Link.schedule & (Link.start_date > NOW), "scheduled"),
    (Link.schedule & (Link.end_date <= NOW), "ended"),
    (Link.clicks_limit.is_not(None), LIMITED),
)


def find_states(
    bitmaps: ListBitmaps, workspace_id: int, values: Sequence[str], everything: Bits, live: set[int]
) -> Bits | None:
    """The links in one of these states. Adds to `live` the blocks in which some have changed by themselves.

    None where too many would have to be looked up.
    """
    live.update(changed_blocks(bitmaps, workspace_id))
    found: dict[str, Bits] = {}
    names = [name_of(STATE, word) for word in ("off", "scheduled", "ended", LIMITED)]
    for name, number, stored in read_stored(bitmaps, workspace_id, names):
        if number not in live:
            found.setdefault(name.partition(":")[2], {})[number] = decode(stored)
    if set(values) & {"active", "limit", "failing"}:
        reached = reached_links(found.pop(LIMITED, {}))
        failing = failing_links(workspace_id)
        if reached is None or failing is None:
            return None
        found["limit"] = reached
        others = either(found.values())
        found["failing"] = without(both(failing, everything), others)
        found["active"] = without(everything, either([others, found["failing"]]))
    return either(found.get(word, {}) for word in values)


def changed_blocks(bitmaps: ListBitmaps, workspace_id: int) -> list[int]:
    """The blocks in which a link's state has changed by itself since they were made."""
    now = microseconds(clock.now())
    stored = read_stored(bitmaps, workspace_id, [UNTIL])
    return [number for _, number, until in stored if int.from_bytes(until, "little") <= now]


def reached_links(limited: Bits) -> Bits | None:
    """Those whose limit is reached."""
    if sum(bits.bit_count() for bits in limited.values()) > MOST_LOOKED_UP:
        return None
    ids = [Block(one, 0).first_id + offset for one, bits in limited.items() for offset in offsets_of(bits)]
    return bits_of(db.session.scalars(select(Link.id).where(Link.id.in_(ids), Link.clicks_limit <= CLICKS)))


def failing_links(workspace_id: int) -> Bits | None:
    """Those whose destination fails, whatever else they are."""
    mine = select(Link.id).where(Link.id.in_(FAILED), Link.workspace_id == workspace_id)
    ids = db.session.scalars(mine.limit(MOST_LOOKED_UP + 1)).all()
    return None if len(ids) > MOST_LOOKED_UP else bits_of(ids)


def bits_of(ids: Iterable[int]) -> Bits:
    offsets: dict[int, list[int]] = {}
    for id_ in ids:
        offsets.setdefault(id_ >> BLOCK_BITS, []).append(id_ - Block(id_ >> BLOCK_BITS, 0).first_id)
    return {number: of_offsets(some) for number, some in offsets.items()}
