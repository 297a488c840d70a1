"""Lists of an owner's rows: filters, orders and pages.

A resource describes its list once, as a `Listing`. The API and the dashboard read it with `find_page`.
"""

# see docs/decisions/2026-11-29-lists-by-plain-sql.md
from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Select,
    Table,
    bindparam,
    exists,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.visitors import replacement_traverse

from app.core.database import PersonalRow, read_columns, time_bound
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.params import MAX_CHARACTERS, ParamReader, QueryParams, bounded, values_of
from app.input.parsers import Rejected, parse_datetime, parse_integer, plain_whole

SIZES = (10, 25, 50, 100, 250, 500, 1000)
DEFAULT_SIZE = 25
ORDER_TYPES = ("ASC", "DESC")
MAX_VALUES = 50  # of one filter: each is a condition of the query
NOT = "not"  # the parameter with the names of the filters whose values a row must not have
SEARCH = "search"
SHORT_WORD = 2  # letters: no index has words of so few
SEARCH_SECONDS = 5.0  # for these
MAX_SORTED = 10_000  # rows, sorted by a value of another table; of more, its index is walked along

Row = TypeVar("Row", bound=Any)

#: reads one parameter (the others beside it) into a condition, None for none; raises Rejected
Filter = Callable[[str, QueryParams], ColumnElement[bool] | None]


@dataclass(frozen=True)
class Listing(Generic[Row]):
    """Description of one resource's list: its filters by parameter, its orders by the word of `order_by`.

    `several`: the filters of which several values may be sent; a row must have one of them, or none where
    `not` names the filter. `mine`: the condition for the user's rows, where that is not their `workspace_id`.
    `copies`: for an order by a value of another table, that table. It has a row for each of the list's, whose
    id is its primary key, with copies of columns by their names.
    """

    model: type[Row]
    filters: Mapping[str, Filter]
    orders: Mapping[str, InstrumentedAttribute[Any] | Column[Any]]
    several: Collection[str] = ()
    mine: ColumnElement[bool] | None = None
    copies: Mapping[str, Table] = field(default_factory=dict)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """One page of a list. A page past the end has no rows, but correct totals.

    Where not `is_counted`, there are at least `total` rows.
    """

    rows: Sequence[Row]
    page: int
    results_per_page: int
    total: int
    is_counted: bool = True

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
    *,
    counted: int | None = None,
) -> Page[Row]:
    """The page of the workspace's rows that these parameters describe. `load` reads them, in place of
    `load_rows`. `counted`: how many rows are counted, if there are more; also known is if a page follows.

    Raises Invalid with every parameter that can't be used. Unknown parameters are ignored.
    """
    reader = ParamReader(params)
    page = reader.read("page", 1, lambda text: parse_integer(text, 1, 2**63 - 1))
    size = int(reader.read("results_per_page", str(DEFAULT_SIZE), one_of(SIZES)))
    conditions, order = read_conditions(reader, listing), read_order(reader, listing)
    reader.require_valid()
    skipped = (page - 1) * size
    asked = ListQuery(listing, workspace_id, conditions, *order)
    with bound_search(params):
        ids, total, is_counted = asked.read(skipped, size, counted)
    return Page((load or load_rows)(listing.model, ids), page, size, total, is_counted)


@contextmanager
def bound_search(params: QueryParams) -> Iterator[None]:
    """Ends a search for short words that takes too long: it reads all rows. Raises Invalid then."""
    longest = max(map(len, params.get(SEARCH, "").split()), default=SHORT_WORD + 1)
    if longest > SHORT_WORD:
        yield
        return
    try:
        with time_bound(db.session, SEARCH_SECONDS):
            yield
    except TimeoutError:
        text = _l("This search takes too long. Search for words of three letters or more.")
        raise Invalid(FieldError(text, "too_slow", SEARCH)) from None


@dataclass(frozen=True)
class ListQuery:
    """The rows of a workspace's list that meet the conditions, in an order.

    `order` is the word of `order_by`, "" for none.
    """

    listing: Listing[Any]
    workspace_id: int
    conditions: Sequence[ColumnElement[bool]]
    order: str
    is_rising: bool

    @property
    def matching(self) -> Sequence[ColumnElement[bool]]:
        return [own_rows(self.listing, self.workspace_id), *self.conditions]

    def read(self, skipped: int, size: int, counted: int | None) -> tuple[Sequence[int], int, bool]:
        """The ids of a page, the number of rows, and whether these are all rows, or `counted` and more."""
        total = self.count(counted)
        if counted and total > counted:
            found = self.in_order(self.is_rising, inf).limit(size + 1).offset(skipped)
            ids = db.session.scalars(found).all()
            if len(ids) > size:
                return ids[:size], max(total, skipped + len(ids)), False
            return ids, skipped + len(ids) if ids else self.count(), True
        return self.read_ids(skipped, min(size, total - skipped), total), total, True

    def count(self, most: int | None = None) -> int:
        """The number of rows. If there are more than `most`, one more than that."""
        model = self.listing.model
        found = select(func.count()).select_from(model).where(*self.matching)
        if most is not None:
            some = select(literal(1)).select_from(model).where(*self.matching).limit(most + 1)
            found = select(func.count()).select_from(some.subquery())
        return db.session.scalar(found) or 0

    def read_ids(self, skipped: int, size: int, total: int) -> Sequence[int]:
        """The ids of the `size` rows after `skipped` ones, of `total`. What is skipped is read as well, so it
        is read from the nearer end."""
        if size <= 0:
            return []
        is_near = skipped <= total // 2
        skipped = skipped if is_near else total - skipped - size
        found = self.in_order(self.is_rising if is_near else not self.is_rising, total)
        ids = db.session.scalars(found.limit(size).offset(skipped)).all()
        return ids if is_near else ids[::-1]

    def in_order(self, is_rising: bool, total: float) -> Select[int]:
        """The ids sorted by the column, nulls lowest on every database, then by id, so that pages never
        overlap."""
        id_, copies = self.listing.model.id, self.listing.copies.get(self.order)
        value: Any = self.listing.orders[self.order] if self.order else None
        found = select(id_).where(*self.matching)
        if copies is not None and self.conditions and total <= MAX_SORTED:
            (key,) = copies.primary_key
            value = select(value).where(key == id_).scalar_subquery()
        elif copies is not None:
            (id_,) = copies.primary_key
            found = select(id_).where(
                *(of_copies(each, self.listing.model, copies) for each in self.matching)
            )
        by_id = id_.asc() if is_rising else id_.desc()
        if value is None:
            return found.order_by(by_id)
        by_value = value.asc() if is_rising else value.desc()
        if getattr(value, "nullable", False):  # for others this would only keep PostgreSQL from its indexes
            by_value = by_value.nulls_first() if is_rising else by_value.nulls_last()
        return found.order_by(by_value, by_id)


def of_copies(condition: ColumnElement[bool], model: Any, copies: Table) -> ColumnElement[bool]:
    """The same condition on the copies of a row's columns; on the row itself where one has no copy."""
    (key,), rows, missing = copies.primary_key, model.__table__, list[str]()

    # the ORM's annotated forms of a table and of its columns are other objects, which share the table's name
    def copy(element: Any, **_: object) -> Any:
        if isinstance(element, Table) and element.name == rows.name:
            return copies
        if not isinstance(element, Column) or element.table is None or element.table.name != rows.name:
            return None
        if element.primary_key:
            return key
        missing.extend([] if element.name in copies.c else [element.name])
        return copies.c.get(element.name)

    found: ColumnElement[bool] = replacement_traverse(condition, {}, copy)
    return exists().where(model.id == key, condition) if missing else found


def find_ids(
    listing: Listing[Row], workspace_id: int, params: QueryParams, after: int, upto: int, most: int
) -> list[int]:
    """The first `most` ids that the filters in `params` find above `after` and up to `upto`.

    Page and order are ignored. Raises Invalid as `find_page` does.
    """
    conditions = find_conditions(listing, params)
    id_ = listing.model.id
    mine = [own_rows(listing, workspace_id), *conditions, id_ > after, id_ <= upto]
    return list(db.session.scalars(select(id_).where(*mine).order_by(id_).limit(most)))


def own_rows(listing: Listing[Row], workspace_id: int) -> ColumnElement[bool]:
    """The condition for the rows of a list. Raises TypeError for personal rows of no named member."""
    if listing.mine is not None:
        return listing.mine
    if issubclass(listing.model, PersonalRow):
        raise TypeError(f"the list of {listing.model.__name__} needs `mine`: its rows are personal")
    owned: ColumnElement[bool] = listing.model.workspace_id == workspace_id
    return owned


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
    last = parse_datetime(text)
    if not re.fullmatch(r"[0-9-]{10}", text):
        return column <= last
    day = dt.timedelta(days=1)
    return column < min(last, dt.datetime.max.replace(tzinfo=dt.UTC) - day) + day
