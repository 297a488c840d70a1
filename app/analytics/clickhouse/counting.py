"""Statements that count clicks and visitors, of single clicks and of what is rolled up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.conditions import (
    DAY,
    QUARTER,
    Condition,
    numbers,
    of_bots,
    of_owner,
    of_rolled,
    raw,
)
from app.analytics.day_state import is_whole, noon
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import QUARTER_MS, QUARTERS
from app.analytics.scope import Scope

COPIED = 0  # the shelf of what was rolled up and removed before it was copied from SQL
CHECKED = 1  # the dimension whose sums say how many clicks of a day are rolled up; any would do
Rows = list[tuple[Any, ...]]


class Counting:
    """Counts in one state of what is rolled up and removed, which is read once."""

    def __init__(self, server: ClickHouse) -> None:
        self.server = server

    @cached_property
    def pruned(self) -> list[int]:
        """The shelves of which only roll-ups are left."""
        return [
            COPIED,
            *(row[0] for row in self.server.query("SELECT DISTINCT shelf FROM pruned ORDER BY shelf")),
        ]

    def raw(self, scope: Scope, first: int, last: int, apart: Iterable[int] = ()) -> Condition:
        """Single clicks; without those of the days `apart`, which are counted by their roll-ups."""
        found = raw(scope, first * QUARTER_MS, last * QUARTER_MS, self.pruned)
        days = [*apart]
        if not days:
            return found
        return Condition(f"{found.text} AND NOT (shelf IN {numbers(days)} AND {DAY} = shelf)", found.values)

    def rolled_days(self, workspace_id: int, first: int, last: int) -> dict[int, int]:
        """The clicks of the owner's days whose roll-ups hold exactly the clicks that there are."""
        days = f"BETWEEN {first // QUARTERS:d} AND {(last - 1) // QUARTERS:d}"
        found = self.server.query(
            f"SELECT day, held FROM (SELECT intDiv(quarter, {QUARTERS}) AS day, sum(pageviews) AS there FROM"
            f" owner_quarter"
            f" WHERE user_id = {workspace_id:d} AND day {days} GROUP BY day) AS counted"
            f" JOIN (SELECT shelf, argMax(pageviews, moment) AS held FROM rolled"
            f" WHERE user_id = {workspace_id:d} AND shelf {days} AND shelf NOT IN {numbers(self.pruned)}"
            " GROUP BY shelf) AS summed ON summed.shelf = counted.day WHERE there = held ORDER BY day"
        )
        return {int(day): int(held) for day, held in found}

    def pageviews(self, scope: Scope, first: int, last: int, key: str) -> Rows:
        """Clicks by `key`, an expression of `quarter`, from the sums."""
        table = "owner_quarter" if scope.link_ids is None else "link_quarter"
        return self.server.query(
            f"SELECT {key} AS k, sum(pageviews) FROM {table} WHERE {of_owner(scope)} AND {of_bots(scope)}"
            f" AND quarter >= {first:d} AND quarter < {last:d} GROUP BY k"
        )

    def visitors(self, scope: Scope, first: int, last: int, key: str) -> Rows:
        """Visitors by `key`, an expression of the `quarter` in which they first came on a day."""
        rolled = [*self.rolled_days(scope.workspace_id, first, last)] if scope.link_ids is None else []
        inside = f"quarter >= {first:d} AND quarter < {last:d}"
        own = f"shelf IN {numbers(rolled)} AND intDiv(quarter, {QUARTERS}) = shelf"
        held = f"(shelf IN {numbers(self.pruned)} OR ({own}))"
        where = self.raw(scope, first, last, rolled)
        return self.server.query(
            f"SELECT {key} AS k, sum(v) FROM (SELECT quarter, visitors AS v FROM visitor_quarter"
            f" WHERE {of_rolled(scope)} AND {of_bots(scope)} AND {inside} AND {held}"
            f" UNION ALL SELECT quarter, count() AS v FROM {self.firsts(scope, where)}"
            f" WHERE {inside} GROUP BY quarter) GROUP BY k",
            **where.values,
        )

    def firsts(self, scope: Scope, where: Condition) -> str:
        """A row for each visitor of a day, with the quarter of an hour in which they first came."""
        apart = ", link_id" if scope.link_ids is not None else ""
        return (
            f"(SELECT toUInt32(intDiv(min(time_ms), {QUARTER_MS})) AS quarter{apart} FROM click"
            f" WHERE {where.text} AND visitor != '' GROUP BY {DAY}, visitor{apart})"
        )

    def link_visitors(self, scope: Scope, first: int, last: int) -> Rows:
        """(link, visitors) of some links."""
        inside = f"quarter >= {first:d} AND quarter < {last:d}"
        where = self.raw(scope, first, last)
        return self.server.query(
            f"SELECT link_id, sum(v) FROM (SELECT link_id, visitors AS v FROM visitor_quarter"
            f" WHERE {of_owner(scope)} AND {of_bots(scope)} AND {inside} AND shelf IN {numbers(self.pruned)}"
            f" UNION ALL SELECT link_id, count() AS v FROM {self.firsts(scope, where)} WHERE {inside}"
            " GROUP BY link_id) GROUP BY link_id",
            **where.values,
        )

    def raw_quarters(self, scope: Scope, first: int, last: int, apart: Iterable[int] = ()) -> Rows:
        """(quarter, clicks, visitors), from single clicks alone."""
        where = self.raw(scope, first, last, apart)
        inside = f"quarter >= {first:d} AND quarter < {last:d}"
        return self.server.query(
            f"SELECT quarter, sum(n), sum(v) FROM (SELECT toUInt32({QUARTER}) AS quarter, count() AS n,"
            f" 0 AS v"
            f" FROM click WHERE {where.text} GROUP BY quarter"
            f" UNION ALL SELECT quarter, 0, count() FROM {self.firsts(scope, where)} GROUP BY quarter)"
            f" WHERE {inside} GROUP BY quarter",
            **where.values,
        )

    def raw_groups(self, scope: Scope, group: str, first: int, last: int, apart: Iterable[int] = ()) -> Rows:
        """(group, clicks, visitors), from single clicks: a visitor counts once a day for each group."""
        where = self.raw(scope, first, last, apart)
        links = ", link_id" if scope.link_ids is not None and group != "link_id" else ""
        begin = first * QUARTER_MS
        return self.server.query(
            f"SELECT g, sum(n), countIf(who != '' AND came >= {begin:d}) FROM (SELECT {group} AS g,"
            f" visitor AS who,"
            f" min(time_ms) AS came, countIf(time_ms >= {begin:d}) AS n FROM click WHERE {where.text}"
            f" GROUP BY g, {DAY}, who{links}) WHERE n > 0 GROUP BY g",
            **where.values,
        )

    def values(self, scope: Scope, name: str, first: int, last: int, rolled: Iterable[int]) -> Rows:
        """(value, clicks, visitors), of these days and of removed ones, from what is rolled up."""
        days = [day for day in rolled if is_whole(day, first, last)]
        gone = f"shelf IN {numbers(self.pruned)} AND {is_mostly(first, last)}"
        held = f"((shelf IN {numbers(days)} AND day = shelf) OR ({gone}))"
        return self.server.query(
            f"SELECT value, sum(pageviews), sum(visitors) FROM value WHERE {self.of_values(scope, name)}"
            f" AND {held}"
            " GROUP BY value"
        )

    def value_days(
        self, scope: Scope, name: str, value: str | None, first: int, last: int, rolled: Iterable[int] = ()
    ) -> Rows:
        """(day, clicks, visitors) with a value, of these days and of removed ones."""
        gone = f"shelf IN {numbers(self.pruned)} AND {is_mostly(first, last)}"
        held = f"((shelf IN {numbers(rolled)} AND day = shelf) OR ({gone}))"
        return self.server.query(
            f"SELECT day, sum(pageviews), sum(visitors) FROM value WHERE {self.of_values(scope, name)}"
            f" AND {held} AND value = {{value:String}} GROUP BY day",
            value=value or "",
        )

    def of_values(self, scope: Scope, name: str) -> str:
        return f"{of_rolled(scope)} AND {of_bots(scope)} AND dimension = {DIMENSIONS[name].number:d}"


def is_mostly(first: int, last: int) -> str:
    """Whether a day's noon is within: that decides for a day that can't be divided any more."""
    middle = f"toInt64(day) * {QUARTERS} + {noon(0):d}"
    return f"{middle} >= {first:d} AND {middle} < {last:d}"
