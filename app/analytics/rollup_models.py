"""What is kept of many visits together, so that nobody has to count them one by one?

Keys come first and rows lie in their order, so that one link's days, or one owner's, lie side by side.
A `day` is a UTC day, counted from 1970; a `quarter` is a quarter of an hour, likewise.
"""

from __future__ import annotations

from sqlalchemy import Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database import CLICKS, Id
from app.extensions import db

IN_ORDER = {"schema": CLICKS, "sqlite_with_rowid": False}

OTHERS = 0  # in place of a link's id: no link has it
EMPTIED = (
    -1
)  # in place of how many rows are rolled up: the roll-ups are being removed, and the rows after them


MANY = 200  # visits on a day; fewer are counted as quickly as roll-ups of them are read
WITH_ROWS = "visits > 0"
UNROLLED = f"rolled {{}} visits AND visits >= {MANY}"


def key() -> Mapped[int]:
    return mapped_column(Id, primary_key=True, autoincrement=False)


def partial_index(name: str, sqlite: str, postgresql: str) -> Index:
    name = f"ix_owner_day_{name}"
    return Index(name, "day", sqlite_where=text(sqlite), postgresql_where=text(postgresql))


class Agent(db.Model):
    """What the text of an agent (the `Term` of that id) says; each a `Term` again, null is unknown."""

    __table_args__ = ({"schema": CLICKS},)

    id: Mapped[int] = key()
    device_type_id: Mapped[int | None] = mapped_column(Id)
    os_name_id: Mapped[int | None] = mapped_column(Id)
    browser_name_id: Mapped[int | None] = mapped_column(Id)


class LinkQuarter(db.Model):
    """Visits of a link in a quarter of an hour; `visitors` are those whose first visit of the day it was."""

    __table_args__ = (IN_ORDER,)

    link_id: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    quarter: Mapped[int] = key()
    pageviews: Mapped[int] = mapped_column(Id)
    visitors: Mapped[int] = mapped_column(Id)


class OwnerQuarter(db.Model):
    """The same of all links of an owner, each visitor counted once a day among them."""

    __table_args__ = (IN_ORDER,)

    user_id: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    quarter: Mapped[int] = key()
    pageviews: Mapped[int] = mapped_column(Id)
    visitors: Mapped[int] = mapped_column(Id)


class Seen(db.Model):
    """When a visitor first came on a day: to a link (its id), or to any of an owner's (minus his id)."""

    __table_args__ = (IN_ORDER,)

    day: Mapped[int] = key()
    visitor: Mapped[str] = mapped_column(String(16), primary_key=True)
    scope: Mapped[int] = key()
    quarter: Mapped[int] = mapped_column(Id)


class OwnerDay(db.Model):
    """How one UTC day of an owner's visits is kept.

    `visits`: how many rows of single visits there are. `rolled`: how many of these the values below stand
    for, null for none; they are of use only while the two are the same. `is_pruned`: rows were removed; the
    values stand for those, and whatever rows there are came late, and are counted beside them.
    """

    # what is to be done with days is looked for again and again, and nearly all are done with
    __table_args__ = (
        partial_index("with_rows", WITH_ROWS, WITH_ROWS),
        partial_index("unrolled", UNROLLED.format("IS NOT"), UNROLLED.format("IS DISTINCT FROM")),
        IN_ORDER,
    )

    user_id: Mapped[int] = key()
    day: Mapped[int] = key()
    visits: Mapped[int] = mapped_column(Id)
    rolled: Mapped[int | None] = mapped_column(Id)
    is_pruned: Mapped[bool] = mapped_column(default=False)


class OwnerValue(db.Model):
    """Visits of an owner's links on a day with one value of a dimension (by its number). `value_id`, and
    where a value is made of two texts `path_id`, name a `Term`; 0 is none."""

    __table_args__ = (IN_ORDER,)

    user_id: Mapped[int] = key()
    dimension: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    day: Mapped[int] = key()
    value_id: Mapped[int] = key()
    path_id: Mapped[int] = key()
    pageviews: Mapped[int] = mapped_column(Id)
    visitors: Mapped[int] = mapped_column(Id)


class LinkValue(db.Model):
    """The same of one link; only for days of many visits, or such whose rows are gone."""

    __table_args__ = (IN_ORDER,)

    link_id: Mapped[int] = key()
    dimension: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    day: Mapped[int] = key()
    value_id: Mapped[int] = key()
    path_id: Mapped[int] = key()
    pageviews: Mapped[int] = mapped_column(Id)
    visitors: Mapped[int] = mapped_column(Id)


class OwnerLink(db.Model):
    """How many visits a link of an owner had on a day at most: of those with most, and of all `OTHERS`."""

    __table_args__ = (IN_ORDER,)

    user_id: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    day: Mapped[int] = key()
    link_id: Mapped[int] = key()
    at_most: Mapped[int] = mapped_column(Id)
