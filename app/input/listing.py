"""Lists of an owner's rows: filters, orders and pages.

A resource describes its list once, as a `Listing`. The API and the dashboard read it with `find_page`.
"""

# see docs/decisions/2026-11-26-indexes-of-long-lists.md
from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import BindParameter, ColumnElement, Select, Table, bindparam, func, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from app.core.database import read_columns
from app.core.extensions import db
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.blocks import Block, Part, find_page_start, read_blocks, split
from app.input.params import MAX_CHARACTERS, ParamReader, QueryParams, bounded, values_of
from app.input.parsers import Rejected, parse_datetime, parse_integer, plain_whole

Row = TypeVar("Row", bound=Any)
SIZES = (10, 25, 50, 100, 250, 500, 1000)
DEFAULT_SIZE = 25
ORDER_TYPES = ("ASC", "DESC")
NOT = "not"  # names the filters whose values are those that a row must not have
MAX_VALUES = 50  # of one filter: each is a condition of the query

#: reads one parameter (the others beside it) into a condition, None for none; raises Rejected
Filter = Callable[[str, QueryParams], ColumnElement[bool] | None]


@dataclass(frozen=True)
class Listing(Generic[Row]):
    """Description of one resource's list: its filters by parameter, its orders by the word of `order_by`.

    `several`: the filters of which several values may be sent; a row must have one of them, or none where
    `not` names the filter. `mine`: the condition for the user's rows, where that is not their `workspace_id`.
    `beside`: for an order by a value that is not in the row, what joins it to the query. `blocks`: the table
    that counts the rows by block of ids, for lists that may be very long. `elsewhere`: the filters that
    another table answers; it names what they find, and would do so again for each part of the list.
    """

    model: type[Row]
    filters: Mapping[str, Filter]
    orders: Mapping[str, ColumnElement[Any] | InstrumentedAttribute[Any]]
    several: Collection[str] = ()
    mine: ColumnElement[bool] | None = None
    beside: Mapping[str, Callable[[Select[Any]], Select[Any]]] = field(default_factory=dict)
    blocks: Table | None = None
    elsewhere: Collection[str] = ()

    def is_by_id(self, order: str) -> bool:
        return not order or self.orders[order] is self.model.id


@dataclass(frozen=True)
class Page(Generic[Row]):
    """One page of a list. A page past the end has no rows, but correct totals."""

    rows: Sequence[Row]
    page: int
    results_per_page: int
    total: int

    @property
    def total_pages(self) -> int:
        return max(1, -(-self.total // self.results_per_page))

    @property
    def next(self) -> int | None:
        return self.page + 1 if self.page < self.total_pages else None

    @property
    def prev(self) -> int | None:
        return min(self.page - 1, self.total_pages) if self.page > 1 else None


def find_page(
    listing: Listing[Row],
    workspace_id: int,
    params: QueryParams,
    load: Callable[[Any, Sequence[int]], Sequence[Any]] | None = None,
) -> Page[Row]:
    """The page of the workspace's rows that these parameters describe. `load` reads them, in place of
    `load_rows`.

    Raises Invalid with every parameter that can't be used. Unknown parameters are ignored.
    """
    reader = ParamReader(params)
    page = reader.read("page", 1, lambda text: parse_integer(text, 1, 2**63 - 1))
    size = int(reader.read("results_per_page", str(DEFAULT_SIZE), one_of(SIZES)))
    conditions, order = read_conditions(reader, listing), read_order(reader, listing)
    reader.require_valid()
    own = listing.model.workspace_id == workspace_id if listing.mine is None else listing.mine
    mine, skipped = [own, *conditions], (page - 1) * size
    blocks = read_blocks(listing.blocks, workspace_id) if listing.blocks is not None else []
    parts = count_parts(listing, blocks, params, mine)
    total = sum(part.size for part in parts) if parts else count(listing, mine)
    if skipped >= total:
        return Page([], page, size, total)
    if len(parts) > 1 and listing.is_by_id(order[0]):
        start = find_page_start(parts, skipped, rising=order[1])
        mine.append(listing.model.id >= start.first_id if order[1] else listing.model.id <= start.last_id)
        ids = read_ids(listing, order, mine, start.offset, size)
    else:
        whole = sum(block.size for block in blocks) if conditions else 0
        ids = read_from_nearer_end(listing, order, mine, parts, Reach(skipped, size, total, whole))
    return Page((load or load_rows)(listing.model, ids), page, size, total)


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
    listing: Listing[Row],
    blocks: Sequence[Block],
    params: QueryParams,
    conditions: Sequence[ColumnElement[bool]],
) -> Sequence[Block | Part]:
    """How many rows meet all conditions, of which the first says whose they are, by parts of the list.

    Empty for a list that is not counted so.
    """
    if len(conditions) == 1:
        return blocks
    if any(params.get(name) for name in listing.elsewhere):
        return []
    return [
        part._replace(size=count(listing, [*conditions, is_within(listing, part, part)]))
        for part in split(blocks)
    ]


def is_within(listing: Listing[Row], first: Block | Part, last: Block | Part) -> ColumnElement[bool]:
    """The condition for ids from a part to another. It also tells SQLite, which keeps no statistics, to read
    the rows in the order of their ids."""
    within: ColumnElement[bool] = listing.model.id.between(first.first_id, last.last_id)
    return within


def read_from_nearer_end(
    listing: Listing[Row],
    order: tuple[str, bool],
    conditions: Sequence[ColumnElement[bool]],
    parts: Sequence[Block | Part],
    reach: Reach,
) -> Sequence[int]:
    """The ids of a page. What is skipped is read as well, so it is read from where that is less."""
    is_sorted = reach.is_sorted_faster and not listing.is_by_id(order[0])
    if parts and (is_sorted or order[0] in listing.beside):
        conditions = [*conditions, is_within(listing, parts[0], parts[-1])]
    skipped, size, total, _ = reach
    if skipped < total // 2:
        return read_ids(listing, order, conditions, skipped, size, is_sorted=is_sorted)
    rest = total - skipped
    most = min(size, rest)
    order = order[0], not order[1]
    return read_ids(listing, order, conditions, rest - most, most, is_sorted=is_sorted)[::-1]


def read_ids(
    listing: Listing[Row],
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


def count(listing: Listing[Row], conditions: Sequence[ColumnElement[bool]]) -> int:
    return db.session.scalar(select(func.count()).select_from(listing.model).where(*conditions)) or 0


def find_ids(
    listing: Listing[Row], workspace_id: int, params: QueryParams, after: int, upto: int, most: int
) -> list[int]:
    """The first `most` ids that the filters in `params` find above `after` and up to `upto`.

    Page and order are ignored. Raises Invalid as `find_page` does.
    """
    conditions = find_conditions(listing, params)
    id_ = listing.model.id
    mine = [listing.model.workspace_id == workspace_id, *conditions, id_ > after, id_ <= upto]
    return list(db.session.scalars(select(id_).where(*mine).order_by(id_).limit(most)))


def find_conditions(listing: Listing[Row], params: QueryParams) -> list[ColumnElement[bool]]:
    """Conditions of the filters in `params`. Raises Invalid with every one that can't be used."""
    reader = ParamReader(params)
    conditions = read_conditions(reader, listing)
    reader.require_valid()
    return conditions


def load_rows(model: type[Row], ids: Sequence[int]) -> list[Row]:
    """The rows of these ids, in this order. Ids are found first: an index alone skips to a far page."""
    rows = {row.id: row for row in db.session.scalars(select(model).where(model.id.in_(ids)))}
    return [rows[id_] for id_ in ids if id_ in rows]


def load_columns(model: Any, ids: Sequence[int]) -> list[Any]:
    """The columns of the same rows, which are only shown."""
    found = db.session.connection().execute(columns_by_ids(model), {"ids": ids})
    rows = {row.id: row for row in found}
    return [rows[id_] for id_ in ids if id_ in rows]


@cache
def columns_by_ids(model: Any) -> Select[Any]:
    ids: BindParameter[Any] = bindparam("ids", expanding=True)
    return read_columns(model).where(model.id.in_(ids))


def ordered(
    listing: Listing[Row], order: tuple[str, bool], found: Select[Any], *, is_sorted: bool = False
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


def read_conditions(reader: ParamReader, listing: Listing[Row]) -> list[ColumnElement[bool]]:
    """Conditions of all filters. One sent empty, as an untouched control sends it, filters nothing."""
    excluded = read_excluded(reader, listing)
    found = []
    for name, read in listing.filters.items():
        if not reader.params.get(name):
            continue
        condition = (
            read_any(reader, name, read) if name in listing.several else read_condition(reader, name, read)
        )
        if condition is not None and name in excluded:
            condition = condition.is_not(true())  # unlike NOT, this is true of a row without a value
        found.append(condition)
    return [condition for condition in found if condition is not None]


def read_condition(reader: ParamReader, name: str, read: Filter) -> ColumnElement[bool] | None:
    return reader.read(name, None, lambda text: read(text, reader.params))


def read_any(reader: ParamReader, name: str, read: Filter) -> ColumnElement[bool] | None:
    """The condition that a row has one of the values of a filter."""
    found = []
    values = values_of(reader.params[name])
    for value in values if len(values) <= MAX_VALUES else ():
        one = reader.parse(name, value, None, lambda text: read(bounded(text, MAX_CHARACTERS), reader.params))
        found += [one] if one is not None else []
    if len(values) > MAX_VALUES:
        text = _l("There may be at most %(most)s values.", most=lazy_digits(MAX_VALUES))
        reader.add_problem(name, Rejected(text, "too_many"))
    return or_(*found) if found else None


def read_excluded(reader: ParamReader, listing: Listing[Row]) -> Collection[str]:
    """The filters whose values a row must not have."""
    if not listing.several or not reader.params.get(NOT):
        return ()
    known = one_of(sorted(listing.several))
    return [reader.parse(NOT, name, "", known) for name in values_of(reader.params[NOT])]


def read_order(reader: ParamReader, listing: Listing[Row]) -> tuple[str, bool]:
    """The word of `order_by` ("" for none), and whether the order is ascending."""
    name = reader.read("order_by", "", one_of(["", *listing.orders]))
    kind = reader.read("order_type", "ASC", one_of(["", *ORDER_TYPES]))
    return name, kind != "DESC"


def one_of(known: Sequence[Any]) -> Callable[[str], str]:
    """A parser for one of the words in `known`, exactly as written."""
    words = [str(word) for word in known]
    is_whole = all(isinstance(word, int) for word in known)

    def read(text: str) -> str:
        text = plain_whole(text) if is_whole else text
        if text not in words:
            raise Rejected(
                _l("This must be one of: %(names)s.", names=", ".join(word for word in words if word)),
                "choice",
            )
        return text

    return read


def contains(text: str, *columns: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
    """The condition that any of the columns contains `text`, literally (`%` and `_` too), in any case.

    Both normal forms are searched: `é` is one character or two, and is stored as it was typed.
    """
    spellings = sorted({unicodedata.normalize(form, text.lower()) for form in ("NFC", "NFD")})
    return or_(
        *(func.lower(column).contains(one, autoescape=True) for column in columns for one in spellings)
    )


def until(column: InstrumentedAttribute[dt.datetime], text: str) -> ColumnElement[bool]:
    """The condition for moments until this one, inclusive; a date without a time includes the whole day."""
    last = parse_datetime(text)
    if re.fullmatch(r"[0-9-]{10}", text):
        last = min(last, dt.datetime.max.replace(tzinfo=dt.UTC) - dt.timedelta(days=1)) + dt.timedelta(days=1)
        return column < last
    return column <= last
