"""Tables of roll-ups: sums of clicks, so that reports need not count single rows.

Rows are stored in the order of their keys, so that the days of one link or owner are next to each other.
A `day` is a UTC day, counted from 1970; a `quarter` is a quarter of an hour, likewise.
"""

from __future__ import annotations

from sqlalchemy import Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database import CLICKS, Id
from app.core.extensions import db

IN_ORDER = {"schema": CLICKS, "sqlite_with_rowid": False}

OTHERS = 0  # in place of a link's id: no link has this id
EMPTIED = (
    -1
)  # in place of how many rows are rolled up: the roll-ups are being removed, and the rows after them


MANY = 200  # clicks on a day; counting fewer rows is as fast as reading their roll-ups
WITH_ROWS = "visits > 0"
UNROLLED = f"rolled {{}} visits AND visits >= {MANY}"


def key() -> Mapped[int]:
    return mapped_column(Id, primary_key=True, autoincrement=False)


def partial_index(name: str, sqlite: str, postgresql: str) -> Index:
    name = f"ix_owner_day_{name}"
    return Index(name, "day", sqlite_where=text(sqlite), postgresql_where=text(postgresql))


class Agent(db.Model):
    """Device, system and browser of a user agent (the `Term` of this id), each a `Term`; null is unknown."""

    __table_args__ = ({"schema": CLICKS},)

    id: Mapped[int] = key()
    device_type_id: Mapped[int | None] = mapped_column(Id)
    os_name_id: Mapped[int | None] = mapped_column(Id)
    browser_name_id: Mapped[int | None] = mapped_column(Id)


class LinkQuarter(db.Model):
    """Clicks on a link in a quarter of an hour; `visitors`: those whose first click of the day was in it."""

    __table_args__ = (IN_ORDER,)

    link_id: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    quarter: Mapped[int] = key()
    pageviews: Mapped[int] = mapped_column(Id)
    visitors: Mapped[int] = mapped_column(Id)


class OwnerQuarter(db.Model):
    """Clicks on all links of an owner in a quarter of an hour; a visitor counts once a day among them."""

    __table_args__ = (IN_ORDER,)

    workspace_id: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    quarter: Mapped[int] = key()
    pageviews: Mapped[int] = mapped_column(Id)
    visitors: Mapped[int] = mapped_column(Id)


class Seen(db.Model):
    """When a visitor first came on a day to a link, or where `is_workspace` to any link of a workspace.

    `scope_id`: the id of that link or workspace.
    """

    __table_args__ = (IN_ORDER,)

    day: Mapped[int] = key()
    visitor: Mapped[str] = mapped_column(String(16), primary_key=True)
    is_workspace: Mapped[bool] = mapped_column(primary_key=True)
    scope_id: Mapped[int] = key()
    quarter: Mapped[int] = mapped_column(Id)


class OwnerDay(db.Model):
    """How one UTC day of an owner's clicks is stored.

    `visits`: how many rows of single clicks exist. `rolled`: how many of these the values below include, null
    for none; the values are used only while the two are equal. `is_pruned`: rows were removed. The values
    then stand for the removed rows. Any rows that exist came late, and are counted in addition.
    """

    # partial indexes: days with work left are looked up often, and nearly all days have none
    __table_args__ = (
        partial_index("with_rows", WITH_ROWS, WITH_ROWS),
        partial_index("unrolled", UNROLLED.format("IS NOT"), UNROLLED.format("IS DISTINCT FROM")),
        IN_ORDER,
    )

    workspace_id: Mapped[int] = key()
    day: Mapped[int] = key()
    visits: Mapped[int] = mapped_column(Id)
    rolled: Mapped[int | None] = mapped_column(Id)
    is_pruned: Mapped[bool] = mapped_column(default=False)


class OwnerValue(db.Model):
    """Clicks on an owner's links on a day with one value of a dimension (by its number).

    `value_id` names a `Term`; so does `path_id`, for a value made of two texts. 0 is none.
    """

    __table_args__ = (IN_ORDER,)

    workspace_id: Mapped[int] = key()
    dimension: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    day: Mapped[int] = key()
    value_id: Mapped[int] = key()
    path_id: Mapped[int] = key()
    pageviews: Mapped[int] = mapped_column(Id)
    visitors: Mapped[int] = mapped_column(Id)


class LinkValue(db.Model):
    """Clicks on one link on a day with one value; only for days with many clicks or without their rows."""

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
    """The most clicks that a link can have had on a day: for the top links, and for all `OTHERS`."""

    __table_args__ = (IN_ORDER,)

    workspace_id: Mapped[int] = key()
    is_bot: Mapped[bool] = mapped_column(primary_key=True)
    day: Mapped[int] = key()
    link_id: Mapped[int] = key()
    at_most: Mapped[int] = mapped_column(Id)
