"""Descriptions of lists, and how a page is read: what is counted, from which end, and when it is sorted."""

# see docs/decisions/2026-11-26-indexes-of-long-lists.md
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Select, Table, func, select
from sqlalchemy.orm import InstrumentedAttribute

from app.core.extensions import db
from app.input.bitmaps import ListBitmaps
from app.input.blocks import BOUNDED_PARTS, PARTS, Block, CountBound, ListPart, split
from app.input.counted_order import CountedRows
from app.input.params import QueryParams

Row = TypeVar("Row", bound=Any)

#: reads one parameter (the others beside it) into a condition, None for none; raises Rejected
Filter = Callable[[str, QueryParams], ColumnElement[bool] | None]


@dataclass(frozen=True)
class Listing(Generic[Row]):
    """Description of one resource's list: its filters by parameter, its orders by the word of `order_by`.

    `several`: the filters of which several values may be sent; a row must have one of them, or none where
    `not` names the filter. `mine`: the condition for the user's rows, where that is not their `workspace_id`.
    `beside`: for an order by a value that is not in the row, what joins it to the query. `blocks`: the table
    that counts the rows by block of ids, for lists that may be very long; all other orders of those have an
    index of the workspace, the column and the id. `counted`: for an order by a count that few rows may
    have, where those are. `elsewhere`: the filters that another table answers; it names what they find, and
    would do so again for each part of the list.
    """

    model: type[Row]
    filters: Mapping[str, Filter]
    orders: Mapping[str, ColumnElement[Any] | InstrumentedAttribute[Any]]
    several: Collection[str] = ()
    mine: ColumnElement[bool] | None = None
    beside: Mapping[str, Callable[[Select[Any]], Select[Any]]] = field(default_factory=dict)
    blocks: Table | None = None
    counted: Mapping[str, CountedRows] = field(default_factory=dict)
    bitmaps: ListBitmaps | None = None
    elsewhere: Collection[str] = ()

    def is_by_id(self, order: str) -> bool:
        return not order or self.orders[order] is self.model.id


class Reach(NamedTuple):
    """How far a page reaches into what its filters find, and how much of the whole list that is (0: all)."""

    skipped: int
    size: int
    total: int
    whole: int

    @property
    def is_sorted_faster(self) -> bool:
        """Whether to sort all that the filters find, instead of walking along the index of the order.

        Walking looks at the whole list's rows, one by one and each in another place, until as many are
        found. Sorting reads the whole list in one go, which takes an eighth of that, and sorts what it finds.
        """
        near = min(self.skipped, self.total - self.skipped) + self.size
        return near * self.whole > self.total * (self.whole // 8 + self.total)


def count_parts(
    listing: Listing[Any],
    blocks: Sequence[Block],
    params: QueryParams,
    conditions: Sequence[ColumnElement[bool]],
    until: CountBound,
) -> tuple[Sequence[Block | ListPart], bool]:
    """How many rows meet all conditions, of which the first says whose they are, by parts of the list; and
    whether these are all parts.

    Empty for a list that is not counted so.
    """
    if len(conditions) == 1:
        return blocks, True
    if any(params.get(name) for name in listing.elsewhere):
        return [], True
    parts, counted, found = split(blocks, BOUNDED_PARTS if until.is_bounded else PARTS), list[ListPart](), 0
    for part in until.in_order(parts):
        size = count(listing, [*conditions, is_within(listing, part, part)])
        counted.append(part._replace(size=size))
        found += size
        if until.is_met(found):
            break
    return until.in_order(counted), len(counted) == len(parts)


def is_within(listing: Listing[Any], first: Block | ListPart, last: Block | ListPart) -> ColumnElement[bool]:
    """The condition for ids from a part to another. It also tells SQLite, which keeps no statistics, to read
    the rows in the order of their ids."""
    within: ColumnElement[bool] = listing.model.id.between(first.first_id, last.last_id)
    return within


def read_from_nearer_end(
    listing: Listing[Any],
    order: tuple[str, bool],
    conditions: Sequence[ColumnElement[bool]],
    parts: Sequence[Block | ListPart],
    reach: Reach,
    workspace_id: int,
) -> Sequence[int]:
    """The ids of a page. What is skipped is read as well, so it is read from where that is less."""
    skipped, size, total, _ = reach
    is_near = skipped < total // 2
    most = min(size, total - skipped)
    if not is_near:
        order, skipped = (order[0], not order[1]), total - skipped - most
    if is_read_along(listing, order, conditions):
        ids = read_along_index(listing, order, workspace_id, skipped, most)
    else:
        is_sorted = reach.is_sorted_faster and not listing.is_by_id(order[0])
        if parts and (is_sorted or order[0] in listing.beside):
            conditions = [*conditions, is_within(listing, parts[0], parts[-1])]
        ids = read_ids(listing, order, conditions, skipped, most, is_sorted=is_sorted)
    return ids if is_near else ids[::-1]


def is_read_along(
    listing: Listing[Any], order: tuple[str, bool], conditions: Sequence[ColumnElement[bool]]
) -> bool:
    """Whether the whole of a list that may be very long is read in an order that has an index, on SQLite."""
    is_long = listing.blocks is not None and len(conditions) == 1 and order[0] not in listing.beside
    return is_long and db.session.connection().dialect.name == "sqlite"


def read_along_index(
    listing: Listing[Any], order: tuple[str, bool], workspace_id: int, skipped: int, most: int
) -> Sequence[int]:
    """The ids of the first `most` rows after `skipped` ones, none of which has to meet a filter.

    The index is entered where the workspace begins, and has no end: SQLite would compare each row that it
    skips with that end, which takes as long as all the rest. Who counted the rows knows how many there are;
    if some were removed meanwhile, those of the next workspace come, and are left out.
    """
    owner, rising = listing.model.workspace_id, order[1]
    begins = owner >= workspace_id if rising else owner <= workspace_id
    found = select(listing.model.id, owner).where(begins).order_by(owner.asc() if rising else owner.desc())
    rows = db.session.execute(ordered(listing, order, found).limit(most).offset(skipped))
    return [id_ for id_, owner_id in rows if owner_id == workspace_id]


def read_ids(
    listing: Listing[Any],
    order: tuple[str, bool],
    conditions: Sequence[ColumnElement[bool]],
    skipped: int,
    most: int,
    *,
    is_sorted: bool = False,
) -> Sequence[int]:
    """The ids of the first `most` rows after `skipped` ones."""
    found = ordered(listing, order, select(listing.model.id).where(*conditions), is_sorted=is_sorted)
    return db.session.scalars(found.limit(most).offset(skipped)).all()


def count(listing: Listing[Any], conditions: Sequence[ColumnElement[bool]]) -> int:
    return db.session.scalar(select(func.count()).select_from(listing.model).where(*conditions)) or 0


def ordered(
    listing: Listing[Any], order: tuple[str, bool], found: Select[Any], *, is_sorted: bool = False
) -> Select[Any]:
    """Sorts by the column, nulls lowest on every database, then by id, so that pages never overlap.

    `is_sorted`: what is found is sorted, and not read along an index that has this order.
    """
    name, rising = order
    by_id = listing.model.id.asc() if rising else listing.model.id.desc()
    if not name:
        return found.order_by(by_id)
    column = listing.orders[name]
    found = listing.beside[name](found) if name in listing.beside else found
    value = func.coalesce(column, column) if is_sorted and name not in listing.beside else column
    by_column = value.asc() if rising else value.desc()
    if getattr(column, "nullable", False):  # for others this would only keep PostgreSQL from its indexes
        by_column = by_column.nulls_first() if rising else by_column.nulls_last()
    return found.order_by(by_column, by_id)
