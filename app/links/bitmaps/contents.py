"""What is in a block of links: the bitmaps of each filter's values, and counts of ranges of values."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, bindparam, case, func, literal, select
from sqlalchemy.orm import Session

from app.core import clock
from app.input.bitmaps import ALL, ENDS, MOMENTS, UNKNOWN, encode, ends_of, microseconds, name_of
from app.input.blocks import Block
from app.input.ranged_order import NONE, RangeBounds, RangedColumn, count_ranges
from app.input.ranged_selection import slice_ranges, sliced_name
from app.input.text_signatures import signature_of
from app.links.bitmaps.searches import SIGNATURE
from app.links.bitmaps.states import LIMITED, NEXT_CHANGES, STATE, STORED_STATE, UNTIL
from app.links.bitmaps.tables import BITMAPS
from app.links.destination_checks import FAILED
from app.links.models import DestinationCheck, Link, LinkTag, link_notification_handler, link_pixel
from app.links.options import RULES

MOST_VALUES = 1024  # of a filter in one block; beyond that its rows are read

# filters by one value of the link itself
VALUES: Mapping[str, ColumnElement[Any]] = {
    "is_enabled": case((Link.is_enabled, 1), else_=0),
    "project_id": func.coalesce(Link.project_id, 0),
    "domain_id": func.coalesce(Link.domain_id, 0),
}
# filters by values of which a link may have several, in other tables: the link's id, and the value
BESIDE: Mapping[str, tuple[Any, Any]] = {
    "tag": (LinkTag.link_id, LinkTag.tag),
    "pixel_id": (link_pixel.c.link_id, link_pixel.c.pixel_id),
    "handler_id": (link_notification_handler.c.link_id, link_notification_handler.c.notification_handler_id),
}
RULE = "rule"


def describe(
    session: Session, workspace_id: int, block: Block, bounds: Mapping[str, RangeBounds]
) -> dict[str, bytes]:
    """The bitmaps of a block by their names, as they are stored. Empty for a block without links."""
    of_block = {"workspace_id": workspace_id, "now": clock.now(), **block.ends}
    connection = session.connection()  # whose rows are plain
    rows = connection.execute(LINKS, of_block).all()
    if not rows:
        return {}
    ids, flags, states, *columns = zip(*rows, strict=True)
    offsets = [id_ - block.first_id for id_ in ids]
    found = {ALL: encode(offsets), **describe_moments(connection, of_block)}
    mine = set(ids)
    found |= describe_states(connection, of_block, zip(ids, offsets, states, strict=True))
    for name, column in zip(VALUES, columns, strict=True):
        found |= by_value(name, zip(column, offsets, strict=True))
    with_flags = ((one, offset) for one, offset in zip(flags, offsets, strict=True) if one)
    found |= by_value(RULE, ((rule, offset) for one, offset in with_flags for rule in rules_of(one)))
    for name, wanted in OF_LINKS.items():
        beside = connection.execute(wanted, of_block)
        found |= by_value(name, ((value, id_ - block.first_id) for id_, value in beside if id_ in mine))
    texts = connection.execute(TEXTS, of_block)
    found[SIGNATURE] = signature_of(text for row in texts for text in row if text)
    for order, some in bounds.items():
        found |= describe_ranges(session, RangedColumn(BITMAPS, order, Link, workspace_id), block, some, mine)
    return found


def describe_states(
    connection: Connection, of_block: Mapping[str, Any], links: Iterable[tuple[int, int, str | None]]
) -> dict[str, bytes]:
    """Each link in one state, and once more those with a limit that can still be reached. `links`: their ids,
    their places, and the states that are not those of active or failing links."""
    failing = set(connection.scalars(FAILING, of_block))
    pairs: list[tuple[str, int]] = []
    for id_, offset, state in links:
        if state is None or state == LIMITED:
            pairs.append(("failing" if id_ in failing else "active", offset))
        if state is not None:
            pairs.append((state, offset))
    return by_value(STATE, pairs)


def describe_moments(connection: Connection, of_block: Mapping[str, Any]) -> dict[str, bytes]:
    first, last, *changes = connection.execute(MOMENTS_OF_BLOCK, of_block).one()
    found = {MOMENTS: ENDS.pack(microseconds(first), microseconds(last))}
    if next_changes := [microseconds(moment) for moment in changes if moment]:
        found[UNTIL] = min(next_changes).to_bytes(8, "little")
    return found


def describe_ranges(
    session: Session, ranged: RangedColumn, block: Block, bounds: RangeBounds, ids: Set[int]
) -> dict[str, bytes]:
    """Which of a block's links have a value in which range of an order, and which have none."""
    numbered = ranged.number_ranges(session, block, bounds)
    without = sorted(ids - {id_ for id_, _ in numbered})
    return {
        ranged.order: bounds.version + count_ranges(numbered),
        sliced_name(ranged.order): bounds.version + slice_ranges(numbered, block),
        **by_value(ranged.order, ((NONE, id_ - block.first_id) for id_ in without)),
    }


@lru_cache(maxsize=1024)
def rules_of(flags: int) -> list[str]:
    return [rule for bit, rule in enumerate(RULES) if flags >> bit & 1]


def by_value(name: str, pairs: Iterable[tuple[Any, int]]) -> dict[str, bytes]:
    """A bitmap for each value of a filter. `pairs`: a value, and the place of a link that has it."""
    places = defaultdict[Any, list[int]](list)
    for value, offset in pairs:
        places[value].append(offset)
    if len(places) > MOST_VALUES:
        return {name_of(name, UNKNOWN): b""}
    return {name_of(name, value): encode(offsets) for value, offsets in places.items()}


FIRST, LAST = bindparam("first_id", type_=BigInteger), bindparam("last_id", type_=BigInteger)
IS_HERE = (Link.workspace_id == bindparam("workspace_id"), Link.id.between(FIRST, LAST))
# a bit for each rule that a link has: one number is read in a fraction of the time of as many columns
FLAGS = sum((case((rule.applies, 1 << bit), else_=0) for bit, rule in enumerate(RULES.values())), literal(0))
# built once: building takes longer than running
LINKS = select(Link.id, FLAGS, STORED_STATE, *VALUES.values()).where(*IS_HERE)
MOMENTS_OF_BLOCK = select(*ends_of(Link.datetime), *NEXT_CHANGES).where(*IS_HERE)
TEXTS = select(Link.search_text, Link.search_notes).where(*IS_HERE)
FAILING = FAILED.where(DestinationCheck.link_id.between(FIRST, LAST))  # whatever else these links are
OF_LINKS = {
    name: select(link_id, value).where(link_id.between(FIRST, LAST))
    for name, (link_id, value) in BESIDE.items()
}
