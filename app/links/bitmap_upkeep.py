"""How the worker makes bitmaps of links anew: of blocks that have changed, and of clicks.

Only long lists have bitmaps; in short ones reading the links takes no time.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    String,
    Text,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from app.core.database import begin_write
from app.input.bitmaps import ALL, ENDS, MOMENTS, UNKNOWN, encode, ends_of, microseconds, name_of
from app.input.blocks import LEAST_OF_PART, Block
from app.input.ranged_order import (
    NONE,
    OF_LIST,
    RANGES,
    VERSION_BYTES,
    Bounds,
    bounds_name,
    count_ranges,
    plain,
    read_bounds,
)
from app.input.sliced_order import TOTAL_BYTES, Group, group_of, slice_counts, total_of
from app.links.clicks import OF_RANGE
from app.links.lists import BITMAPS
from app.links.models import (
    Link,
    LinkTag,
    link_bitmap,
    link_block,
    link_notification_handler,
    link_pixel,
    stale_bitmap,
)
from app.links.options import RULES

ONE_AT_A_TIME = 7262312  # the number of an advisory lock in PostgreSQL
MOST_VALUES = 1024  # of a filter in one block; beyond that its rows are read
SAMPLE = 1024  # links by whose values a list is parted into ranges
LONGEST_RANGE = 250_000  # rows: walking to its middle takes a few milliseconds
UNEVEN = 16  # times as long as the mean may a range become
BLOCKS_AT_ONCE = 4  # in one transaction, each some 10 ms: others must be able to write in between

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
RULE, CLICKS = "rule", "clicks"


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


def bounds_of(session: Session, workspace_id: int) -> dict[str, Bounds]:
    """The bounds of the list's orders, as far as there are any."""
    found = {order: read_bounds(session, BITMAPS, workspace_id, order) for order in BITMAPS.ranged}
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


def is_uneven(session: Session, workspace_id: int, order: str, bounds: Bounds) -> bool:
    """Whether a range has so many rows that walking to its middle takes long."""
    of_order = link_bitmap.c.workspace_id == workspace_id, link_bitmap.c.name == order
    total = 0
    for stored in session.scalars(select(link_bitmap.c.bits).where(*of_order)):
        if stored.startswith(bounds.version):
            total += int.from_bytes(stored[VERSION_BYTES:], "little")
    sizes = array("I", total.to_bytes(4 * RANGES, "little"))
    return max(sizes) > max(LONGEST_RANGE, sum(sizes) * UNEVEN // RANGES)


def choose_bounds(session: Session, workspace_id: int, column: Any) -> Bounds:
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
        return Bounds.of([])
    parts = [plain(values[number * len(values) // RANGES]) for number in range(1, RANGES)]
    return Bounds.of(list(dict.fromkeys(parts)))


def in_database_order(session: Session, texts: Sequence[str]) -> list[str]:
    """As the index has them: SQLite by code point, PostgreSQL as its database was made."""
    if session.get_bind().dialect.name == "sqlite":
        return sorted(texts)
    value = func.unnest(cast(texts, ARRAY(Text))).column_valued("value")
    return list(session.scalars(select(value).order_by(value)))


def stale_blocks(session: Session, workspace_id: int) -> list[int]:
    wanted = select(stale_bitmap.c.block).where(stale_bitmap.c.workspace_id == workspace_id).distinct()
    return list(session.scalars(wanted))


def make_bitmaps(session: Session, workspace_id: int, numbers: Sequence[int]) -> None:
    """Makes the bitmaps of some blocks, and commits. A change meanwhile leaves its block stale. Does nothing
    while another machine makes some."""
    if not lock(session):
        return
    # before the links: what changes them from here on adds a mark that is not removed
    is_here = stale_bitmap.c.workspace_id == workspace_id, stale_bitmap.c.block.in_(numbers)
    seen = session.scalars(select(stale_bitmap.c.id).where(*is_here)).all()
    bounds = bounds_of(session, workspace_id)
    described = {number: describe(session, workspace_id, Block(number, 0), bounds) for number in numbers}
    write(session, workspace_id, described, link_bitmap.c.name != CLICKS)
    session.execute(delete(stale_bitmap).where(stale_bitmap.c.id.in_(seen)))
    session.commit()


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


# ------------------------------------------------------------------ what is in a block


def describe(
    session: Session, workspace_id: int, block: Block, bounds: Mapping[str, Bounds]
) -> dict[str, bytes]:
    """The bitmaps of a block by their names, as they are stored. Empty for a block without links."""
    of_block = {"workspace_id": workspace_id, **block.ends}
    connection = session.connection()  # whose rows are plain
    rows = connection.execute(LINKS, of_block).all()
    if not rows:
        return {}
    ids, flags, *columns = zip(*rows, strict=True)
    offsets = [id_ - block.first_id for id_ in ids]
    first, last = session.execute(ENDS_OF_BLOCK, of_block).one()
    found = {ALL: encode(offsets), MOMENTS: ENDS.pack(microseconds(first), microseconds(last))}
    for name, column in zip(VALUES, columns, strict=True):
        found |= by_value(name, zip(column, offsets, strict=True))
    rules = [
        (rule, offset) for one, offset in zip(flags, offsets, strict=True) if one for rule in rules_of(one)
    ]
    found |= by_value(RULE, rules)
    is_here = [Link.workspace_id == workspace_id, Link.id.between(block.first_id, block.last_id)]
    for order, some in bounds.items():
        column = BITMAPS.ranged[order]
        found[order] = some.version + count_ranges(session, column, is_here, some)
        if column.nullable:
            without = session.scalars(select(Link.id).where(*is_here, column.is_(None)).order_by(Link.id))
            found |= by_value(order, ((NONE, id_ - block.first_id) for id_ in without))
    mine = set(ids)
    for name, wanted in OF_LINKS.items():
        pairs = (
            (value, id_ - block.first_id) for id_, value in session.execute(wanted, of_block) if id_ in mine
        )
        found |= by_value(name, pairs)
    return found


@cache
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
LINKS = select(Link.id, FLAGS, *VALUES.values()).where(*IS_HERE)
ENDS_OF_BLOCK = select(*ends_of(Link.datetime)).where(*IS_HERE)
OF_LINKS = {
    name: select(link_id, value).where(link_id.between(FIRST, LAST))
    for name, (link_id, value) in BESIDE.items()
}


# -------------------------------------------------------------------- clicks


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
        clicks = int(session.scalar(TOTAL, Group(number).ends) or 0)
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
        stored = slice_counts(session, OF_RANGE, Group(number))
        write(session, workspace_id, {number: {CLICKS: stored}}, link_bitmap.c.name == CLICKS)
        session.commit()


TOTAL = select(func.sum(OF_RANGE.subquery().c.clicks))
