"""Which of an owner's rows does somebody ask to see, in what order, and which page of them?

A resource describes its list once, as a `Listing`; the API and the dashboard read it with `find_page`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from app.extensions import db
from app.params import ParamReader
from app.reading import Rejected, plain_whole, whole

Row = TypeVar("Row", bound=Any)
SIZES = (10, 25, 50, 100, 250, 500, 1000)
DEFAULT_SIZE = 25
ORDER_TYPES = ("ASC", "DESC")

Asked = Mapping[str, str]
#: reads one parameter (the others beside it) into a condition, None for none; raises Rejected
Filter = Callable[[str, Asked], ColumnElement[bool] | None]


@dataclass(frozen=True)
class Listing(Generic[Row]):
    """What one resource's list can be asked: its filters by parameter, its orders by word.

    `mine`: which rows are the user's, where their own `user_id` does not say it. `beside`: how an order gets
    at what is not in the row, where it needs that.
    """

    model: type[Row]
    filters: Mapping[str, Filter]
    orders: Mapping[str, ColumnElement[Any] | InstrumentedAttribute[Any]]
    mine: ColumnElement[bool] | None = None
    beside: Mapping[str, Callable[[Select[Any]], Select[Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """One page of a list. A page past the end has no rows and true figures."""

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


def find_page(listing: Listing[Row], user_id: int, asked: Asked) -> Page[Row]:
    """The page of the user's rows that `asked` (a request's parameters) describes.

    Raises Invalid with every parameter that can't be used. Parameters nobody knows are ignored.
    """
    question = Question(listing, asked)
    page, size = question.page(), question.size()
    conditions, order = question.conditions(), question.order()
    question.require_valid()
    own = listing.model.user_id == user_id if listing.mine is None else listing.mine
    mine = [own, *conditions]
    total = db.session.scalar(select(func.count()).select_from(listing.model).where(*mine)) or 0
    if (page - 1) * size >= total:
        return Page([], page, size, total)
    found = ordered(listing, order, select(listing.model.id).where(*mine))
    ids = db.session.scalars(found.limit(size).offset((page - 1) * size)).all()
    return Page(load(listing.model, ids), page, size, total)


def find_ids(
    listing: Listing[Row], user_id: int, asked: Asked, after: int, upto: int, most: int
) -> list[int]:
    """The first ids of all that `asked` finds, above one and up to another; whatever page and order it names.

    Raises Invalid as `find_page` does.
    """
    question = Question(listing, asked)
    conditions = question.conditions()
    question.require_valid()
    id_ = listing.model.id
    mine = [listing.model.user_id == user_id, *conditions, id_ > after, id_ <= upto]
    return list(db.session.scalars(select(id_).where(*mine).order_by(id_).limit(most)))


def load(model: type[Row], ids: Sequence[int]) -> list[Row]:
    """The rows of these ids, in this order. Found apart from them, for an index alone skips to a far page."""
    rows = {row.id: row for row in db.session.scalars(select(model).where(model.id.in_(ids)))}
    return [rows[id_] for id_ in ids if id_ in rows]


def ordered(listing: Listing[Row], order: tuple[str, bool], found: Select[Any]) -> Select[Any]:
    """By the column, nulls lowest on every database, and by id among equals: so that pages never overlap."""
    name, rising = order
    by_id = listing.model.id.asc() if rising else listing.model.id.desc()
    if not name:
        return found.order_by(by_id)
    column = listing.orders[name]
    found = listing.beside[name](found) if name in listing.beside else found
    by_column = column.asc() if rising else column.desc()
    if getattr(column, "nullable", False):  # elsewhere the words would only keep PostgreSQL from its indexes
        by_column = by_column.nulls_first() if rising else by_column.nulls_last()
    return found.order_by(by_column, by_id)


class Question(ParamReader, Generic[Row]):
    """What a request asks of a list."""

    def __init__(self, listing: Listing[Row], asked: Asked) -> None:
        super().__init__(asked)
        self.listing = listing

    def page(self) -> int:
        return int(self.read("page", 1, lambda text: whole(text, 1, 2**63 - 1)))

    def size(self) -> int:
        return int(self.read("results_per_page", DEFAULT_SIZE, one_of(SIZES)))

    def conditions(self) -> list[ColumnElement[bool]]:
        """A filter sent empty, as an untouched control sends it, filters nothing."""
        found = [
            self.condition(name, read) for name, read in self.listing.filters.items() if self.params.get(name)
        ]
        return [condition for condition in found if condition is not None]

    def condition(self, name: str, read: Filter) -> ColumnElement[bool] | None:
        found: ColumnElement[bool] | None = self.read(name, None, lambda text: read(text, self.params))
        return found

    def order(self) -> tuple[str, bool]:
        """The word of `order_by` ("" for none) and whether it rises."""
        name = self.read("order_by", "", one_of(["", *self.listing.orders]))
        kind = self.read("order_type", "ASC", one_of(["", *ORDER_TYPES]))
        return str(name), kind != "DESC"


def one_of(known: Sequence[Any]) -> Callable[[str], str]:
    """Reads one of the words `known`, as they are written."""
    words = [str(word) for word in known]
    is_whole = all(isinstance(word, int) for word in known)

    def read(text: str) -> str:
        text = plain_whole(text) if is_whole else text
        if text not in words:
            raise Rejected(f"This must be one of: {', '.join(word for word in words if word)}.", "choice")
        return text

    return read


def contains(text: str, *columns: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
    """Whether any of the columns contains `text`: literally (`%` and `_` too), whatever its case.

    Composed or decomposed: `é` is one character or two, and was stored as it was typed.
    """
    spellings = sorted({unicodedata.normalize(form, text.lower()) for form in ("NFC", "NFD")})
    return or_(
        *(func.lower(column).contains(one, autoescape=True) for column in columns for one in spellings)
    )
