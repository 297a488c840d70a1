"""Conditions and columns of statements for ClickHouse. Numbers stand in the text, texts are parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from app.analytics.clickhouse.shelves import Shelves
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import DAY_MS, QUARTER_MS
from app.analytics.scope import Scope

DAY = f"intDiv(time_ms, {DAY_MS})"
QUARTER = f"intDiv(time_ms, {QUARTER_MS})"
# the columns of a click that hold the value of a dimension
VALUE_COLUMNS = {
    name: "concat(referrer_host, referrer_path)"
    if len(each.columns) > 1
    else each.columns[0].removesuffix("_id")
    for name, each in DIMENSIONS.items()
}


class Condition(NamedTuple):
    """The text of a condition, and the values of its parameters."""

    text: str
    values: dict[str, Any]


def numbers(values: Iterable[int]) -> str:
    """A list for IN. An empty one matches nothing."""
    return f"({', '.join(f'{value:d}' for value in values) or '-1'})"


def of_bots(scope: Scope) -> str:
    return "1" if scope.is_bot is None else f"is_bot = {scope.is_bot:d}"


def of_owner(scope: Scope) -> str:
    """The clicks of a scope: by owner, which the tables' order begins with, and by link."""
    mine = [f"user_id = {scope.workspace_id:d}"] if scope.workspace_id else []
    links = [f"link_id IN {numbers(scope.link_ids)}"] if scope.link_ids is not None else []
    return " AND ".join([*mine, *links])


def of_rolled(scope: Scope) -> str:
    """As `of_owner`, in a table that holds all links together under the link 0."""
    return of_owner(scope) if scope.link_ids is not None else f"{of_owner(scope)} AND link_id = 0"


def raw(
    scope: Scope, first_ms: int, last_ms: int, shelves: Shelves, apart: Collection[int] = ()
) -> Condition:
    """Single clicks from the beginning of the UTC day on in which the time begins.

    Without those of the days `apart`, which are counted by their roll-ups.
    """
    begin = first_ms // DAY_MS * DAY_MS
    parts = [
        of_owner(scope),
        of_bots(scope),
        kept_between(shelves, begin // DAY_MS, (last_ms - 1) // DAY_MS),
        f"time_ms >= {begin:d} AND time_ms < {last_ms:d}",
    ]
    if apart:
        # a condition on the shelf alone leaves whole parts unread
        mixed = [day for day in apart if day in shelves.late]
        parts.append(f"shelf NOT IN {numbers(day for day in apart if day not in shelves.late)}")
        parts += [f"NOT (shelf IN {numbers(mixed)} AND {DAY} = shelf)"] if mixed else []
    values: dict[str, Any] = {}
    for number, (name, value) in enumerate(scope.filters.items()):
        parts.append(f"{VALUE_COLUMNS[name]} = {{f{number}:String}}")
        values[f"f{number}"] = value or ""
    return Condition(" AND ".join(parts), values)


def kept_between(shelves: Shelves, first: int, last: int) -> str:
    """The shelves that are not removed and may hold clicks of these UTC days.

    No click is kept under an earlier day than its own.
    """
    late = [shelf for shelf in shelves.late if shelf > last]
    own = f"shelf >= {max(first, 0):d} AND shelf <= {last:d}"
    some = f"({own} OR shelf IN {numbers(late)})" if late else own
    return f"{some} AND shelf NOT IN {numbers(shelves.removed_since(first))}"
