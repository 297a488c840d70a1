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
from app.links.models import Link

STATE, UNTIL = "state", "until"  # the second has the moment until which a block's states hold
LIMITED = "limited"  # links, active or failing, whose limit was not reached when their block was made
MOST_LOOKED_UP = 10_000  # links with a limit: each takes some microseconds

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
    # tested first, so that the clicks of links without a limit are not read
    (Link.clicks_limit.is_not(None) & (Link.clicks_limit <= CLICKS), "limit"),
    (Link.clicks_limit.is_not(None), LIMITED),
)


def find_states(bitmaps: ListBitmaps, workspace_id: int, values: Sequence[str], live: set[int]) -> Bits:
    """The links in one of these states. Adds to `live` the blocks in which one has changed by itself."""
    live.update(changed_blocks(bitmaps, workspace_id))
    depend_on_clicks = {"active", "failing", "limit"}.intersection(values)
    words = {*values, *([LIMITED] if depend_on_clicks else [])}
    found: dict[str, Bits] = {word: {} for word in words}
    for name, number, stored in read_stored(bitmaps, workspace_id, [name_of(STATE, one) for one in words]):
        if number not in live:
            found[name.partition(":")[2]][number] = decode(stored)
    reached = reached_links(found.pop(LIMITED, {}))
    for word in found.keys() & {"active", "failing"}:
        found[word] = without(found[word], reached)
    if "limit" in found:
        found["limit"] = either([found["limit"], reached])
    return either(found.values())


def changed_blocks(bitmaps: ListBitmaps, workspace_id: int) -> list[int]:
    """The blocks in which a link's state has changed by itself since they were made."""
    now = microseconds(clock.now())
    stored = read_stored(bitmaps, workspace_id, [UNTIL])
    return [number for _, number, until in stored if int.from_bytes(until, "little") <= now]


def reached_links(limited: Bits) -> Bits:
    """The links whose limit was reached since the bitmaps of their blocks were made.

    Of few links with a limit the clicks are looked up. Where there are more, the visit that reaches a limit
    marks the block (`app/redirects/limits.py`), so there are none. Only visits from before the link had a
    limit, which are counted late, may be seen a round later (`app/links/bitmaps/clicks.py`).
    """
    if sum(bits.bit_count() for bits in limited.values()) > MOST_LOOKED_UP:
        return {}
    ids = [Block(one, 0).first_id + offset for one, bits in limited.items() for offset in offsets_of(bits)]
    return bits_of(db.session.scalars(select(Link.id).where(Link.id.in_(ids), Link.clicks_limit <= CLICKS)))


def bits_of(ids: Iterable[int]) -> Bits:
    offsets: dict[int, list[int]] = {}
    for id_ in ids:
        offsets.setdefault(id_ >> BLOCK_BITS, []).append(id_ - Block(id_ >> BLOCK_BITS, 0).first_id)
    return {number: of_offsets(some) for number, some in offsets.items()}
