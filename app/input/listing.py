"""Lists of an owner's rows: filters, orders and pages.

A resource describes its list once, as a `Listing`. The API and the dashboard read it with `find_page`.
"""

# see docs/decisions/2026-11-26-indexes-of-long-lists.md
from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic

from sqlalchemy import BindParameter, ColumnElement, Select, bindparam, func, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from app.core.database import read_columns
from app.core.extensions import db
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.bitmaps import ListBitmaps, MomentBound, RowReader, Selection, select_rows
from app.input.blocks import Block, ListPart, find_page_start, read_blocks
from app.input.counted_order import CountedList
from app.input.moment_order import read_by_moment
from app.input.page_reading import Filter as Filter
from app.input.page_reading import Listing as Listing
from app.input.page_reading import Reach, Row, count, count_parts, read_from_nearer_end, read_ids
from app.input.params import MAX_CHARACTERS, ParamReader, QueryParams, bounded, values_of
from app.input.parsers import Rejected, parse_datetime, parse_integer, plain_whole
from app.input.ranged_order import RangedList
from app.input.sliced_order import read_sliced

SIZES = (10, 25, 50, 100, 250, 500, 1000)
DEFAULT_SIZE = 25
ORDER_TYPES = ("ASC", "DESC")
NOT = "not"  # names the filters whose values are those that a row must not have
NEAR = 100_000  # rows from an end of a list, where walking to them takes no time
MOST_NAMED = 10_000  # rows that are named by their ids, to be sorted alone
MAX_VALUES = 50  # of one filter: each is a condition of the query


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
    skipped = (page - 1) * size
    found = Finding(listing, workspace_id, params, [own, *conditions], order)
    ids = found.read(skipped, size) if skipped < found.total else []
    return Page((load or load_rows)(listing.model, ids), page, size, found.total)


class Finding(Generic[Row]):
    """What filters find of a list, and the ways to read a page of it in an order.

    `conditions`: the first says whose the rows are. Where bitmaps can't say what the others find
    (`selection`), it is counted by `parts` of the list.
    """

    def __init__(
        self,
        listing: Listing[Row],
        workspace_id: int,
        params: QueryParams,
        conditions: Sequence[ColumnElement[bool]],
        order: tuple[str, bool],
    ) -> None:
        self.listing, self.workspace_id = listing, workspace_id
        self.conditions, self.order, self.is_rising = conditions, order, order[1]
        self.blocks = read_blocks(listing.blocks, workspace_id) if listing.blocks is not None else []
        self.is_whole = len(conditions) == 1
        self.counted = listing.counted.get(order[0])
        self.are_few_counted = (
            self.is_whole and self.counted is not None and self.counted.are_few(self.blocks)
        )
        self.selection = self.select(listing.bitmaps, params) if listing.bitmaps is not None else None
        self.parts: Sequence[Block | ListPart] = ()
        if self.selection is not None:
            self.total = self.selection.size
        else:
            self.parts = count_parts(listing, self.blocks, params, conditions)
            self.total = sum(part.size for part in self.parts) if self.parts else count(listing, conditions)

    def select(self, bitmaps: ListBitmaps, params: QueryParams) -> Selection | None:
        """What the filters find. None for the whole list, unless very many rows of it have a count."""
        if self.is_whole and (self.counted is None or self.are_few_counted):
            return None
        asked = [name for name in self.listing.filters if params.get(name)]
        excluded = values_of(params[NOT]) if self.listing.several and params.get(NOT) else ()
        rows = RowReader(self.listing.model, self.conditions)
        return select_rows(bitmaps, self.workspace_id, params, asked, excluded, self.blocks, rows)

    def read(self, skipped: int, size: int) -> Sequence[int]:
        """The ids of a page. `skipped` must be less than all rows."""
        page, ids = (skipped, size), None
        if self.selection is not None:
            return self.read_selected(self.selection, page)
        if self.counted is not None and self.are_few_counted:
            model, rising = self.listing.model, self.is_rising
            return CountedList(model, self.counted, self.workspace_id, self.blocks, rising=rising).read(*page)
        if len(self.parts) > 1 and self.listing.is_by_id(self.order[0]):
            return self.read_by_id(skipped, size)
        if self.is_whole and self.listing.bitmaps is not None and self.is_far(skipped):
            ids = self.read_ranged(self.listing.bitmaps, page)
        return self.read_in_order(skipped, size) if ids is None else ids

    def is_far(self, skipped: int) -> bool:
        """Whether it takes long to walk to a row from either end."""
        return min(skipped, self.total - skipped) > NEAR

    def read_ranged(self, bitmaps: ListBitmaps, page: tuple[int, int]) -> Sequence[int] | None:
        if self.order[0] not in bitmaps.ranged:
            return None
        ranged = RangedList(bitmaps, self.order[0], self.listing.model, self.workspace_id, self.blocks)
        return ranged.read(page, rising=self.is_rising)

    def read_selected(self, selection: Selection, page: tuple[int, int]) -> Sequence[int]:
        rising, bitmaps, ids = self.is_rising, self.listing.bitmaps, None
        if self.listing.is_by_id(self.order[0]):
            return selection.read(*page, rising=rising)
        if bitmaps is not None and self.counted is not None:
            ids = read_sliced(self.counted, bitmaps, self.workspace_id, selection, page, rising=rising)
        elif bitmaps is not None and self.listing.orders[self.order[0]] is bitmaps.moment:
            ids = read_by_moment(bitmaps, self.workspace_id, selection, page, rising=rising)
        return self.read_otherwise(selection, page) if ids is None else ids

    def read_otherwise(self, selection: Selection, page: tuple[int, int]) -> Sequence[int]:
        """A page in an order that bitmaps do not tell: of few rows these are sorted."""
        self.parts = selection.blocks
        if not self.is_whole and selection.size <= MOST_NAMED:
            ids = selection.read(0, selection.size, rising=True)
            self.conditions = [self.conditions[0], self.listing.model.id.in_(ids)]
        return self.read_in_order(*page)

    def read_by_id(self, skipped: int, size: int) -> Sequence[int]:
        start = find_page_start(self.parts, skipped, rising=self.is_rising)
        id_ = self.listing.model.id
        within = id_ >= start.first_id if self.is_rising else id_ <= start.last_id
        return read_ids(self.listing, self.order, [*self.conditions, within], start.offset, size)

    def read_in_order(self, skipped: int, size: int) -> Sequence[int]:
        whole = 0 if self.is_whole else sum(block.size for block in self.blocks)
        reach = Reach(skipped, size, self.total, whole)
        return read_from_nearer_end(
            self.listing, self.order, self.conditions, self.parts, reach, self.workspace_id
        )


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
    last = until_moment(text)
    return column <= last.moment if last.is_inclusive else column < last.moment


def until_moment(text: str) -> MomentBound:
    """The last moment that `until` finds, or the first that it does not."""
    last = parse_datetime(text)
    is_day = re.fullmatch(r"[0-9-]{10}", text) is not None
    if is_day:
        last = min(last, dt.datetime.max.replace(tzinfo=dt.UTC) - dt.timedelta(days=1)) + dt.timedelta(days=1)
    return MomentBound(last, is_start=False, is_inclusive=not is_day)
