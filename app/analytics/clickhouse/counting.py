"""Statements that count clicks and visitors, of single clicks and of what is rolled up.

Each figure is one statement, whose parts are put together by UNION ALL: a page waits for each answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.conditions import (
    DAY,
    QUARTER,
    VALUE_COLUMNS,
    Condition,
    numbers,
    of_bots,
    of_owner,
    of_rolled,
    raw,
)
from app.analytics.clickhouse.schema import SHELF
from app.analytics.clickhouse.shelves import Rolled, Shelves, read_shelves
from app.analytics.day_state import noon
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import QUARTER_MS, QUARTERS
from app.analytics.scope import Scope

CHECKED = 1  # the dimension whose sums say how many clicks of a day are rolled up; any would do
Rows = list[tuple[Any, ...]]
Days = Mapping[int, Rolled]  # the days that are counted by their roll-ups although their clicks are there


class Counting:
    """Counts in one state of what is rolled up and removed, which is read once for each period."""

    def __init__(self, server: ClickHouse) -> None:
        self.server = server
        self._read: dict[tuple[int, int, int], Shelves] = {}

    def shelves(self, workspace_id: int, first: int = 0, last: int = 0) -> Shelves:
        """What is known of the shelves, and of the owner's days between two quarters of an hour."""
        asked = workspace_id, first, last
        if asked not in self._read:
            days = range(first // QUARTERS, (last - 1) // QUARTERS + 1) if last > first else range(0)
            self._read[asked] = read_shelves(self.server, workspace_id, days)
        return self._read[asked]

    def of_period(self, scope: Scope, first: int, last: int) -> Shelves:
        """Links have no roll-ups before their clicks are removed."""
        if scope.link_ids is not None:
            return self.shelves(scope.workspace_id)
        return self.shelves(scope.workspace_id, first, last)

    def raw(self, scope: Scope, first: int, last: int, apart: Collection[int] = ()) -> Condition:
        """Single clicks; without those of the days `apart`."""
        shelves = self.of_period(scope, first, last)
        return raw(scope, first * QUARTER_MS, last * QUARTER_MS, shelves, apart)

    def held(
        self, scope: Scope, first: int, last: int, rolled: Days, day: str = "day", gone: str = "1"
    ) -> str:
        """The rows of roll-ups to be read: of rolled days those of the shelf's own `day`, of removed shelves
        those for which `gone` holds."""
        shelves = self.of_period(scope, first, last)
        removed = numbers(shelves.removed[shelf] for shelf in shelves.removed_since(first // QUARTERS))
        parts = [f"number IN {removed} AND {gone}"]
        if rolled:
            own = numbers(each.number for each in rolled.values())
            parts.append(f"number IN {own} AND {day} = {SHELF}")
        return f"(({') OR ('.join(parts)}))"

    def pageviews(self, scope: Scope, first: int, last: int, key: str) -> Rows:
        """Clicks by `key`, an expression of `quarter`, from the sums."""
        return self.server.query(
            f"SELECT {key} AS k, sum(pageviews) {of_sums(scope, first, last)} GROUP BY k"
        )

    def totals(self, scope: Scope, first: int, last: int, key: str) -> Rows:
        """(key, clicks, visitors) by `key`, an expression of the `quarter` in which they first came on a
        day."""
        rolled = self.of_period(scope, first, last).rolled
        inside = f"quarter >= {first:d} AND quarter < {last:d}"
        held = self.held(scope, first, last, rolled, f"intDiv(quarter, {QUARTERS})")
        where = self.raw(scope, first, last, rolled)
        return self.server.query(
            f"SELECT k, sum(n), sum(v) FROM (SELECT {key} AS k, sum(pageviews) AS n, 0 AS v"
            f" {of_sums(scope, first, last)} GROUP BY k"
            f" UNION ALL SELECT {key} AS k, 0, sum(visitors) FROM day_visitor"
            f" WHERE {of_rolled(scope)} AND {of_bots(scope)} AND {inside} AND {held} GROUP BY k"
            f" UNION ALL SELECT {key} AS k, 0, count() FROM {self.firsts(scope, where)}"
            f" WHERE {inside} GROUP BY k) GROUP BY k",
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
            f"SELECT link_id, sum(v) FROM (SELECT link_id, visitors AS v FROM day_visitor"
            f" WHERE {of_owner(scope)} AND {of_bots(scope)} AND {inside}"
            f" AND {self.held(scope, first, last, {})}"
            f" UNION ALL SELECT link_id, count() AS v FROM {self.firsts(scope, where)} WHERE {inside}"
            " GROUP BY link_id) GROUP BY link_id",
            **where.values,
        )

    def raw_quarters(self, scope: Scope, first: int, last: int) -> Rows:
        """(quarter, clicks, visitors), from single clicks alone."""
        where = self.raw(scope, first, last)
        return self.server.query(
            f"SELECT quarter, sum(n), sum(v) FROM ({self.quarters(scope, where, first, last)})"
            " GROUP BY quarter",
            **where.values,
        )

    def filtered_quarters(self, scope: Scope, first: int, last: int, rolled: Days) -> Rows:
        """(quarter, clicks, visitors) with the scope's only filter: rolled days are at their noon."""
        [(name, value)] = scope.filters.items()
        where = self.raw(scope, first, last, rolled)
        is_held = self.held(scope, first, last, rolled, gone=is_mostly(first, last))
        return self.server.query(
            f"SELECT quarter, sum(n), sum(v) FROM ({self.quarters(scope, where, first, last)}"
            f" UNION ALL SELECT toUInt32(day) * {QUARTERS} + {noon(0):d}, pageviews, visitors FROM day_value"
            f" WHERE {of_values(scope, name)} AND value = {{value:String}} AND {is_held}) GROUP BY quarter",
            **where.values,
            value=value or "",
        )

    def quarters(self, scope: Scope, where: Condition, first: int, last: int) -> str:
        return (
            f"SELECT quarter, n, v FROM (SELECT toUInt32({QUARTER}) AS quarter, count() AS n, 0 AS v"
            f" FROM click WHERE {where.text} GROUP BY quarter"
            f" UNION ALL SELECT quarter, 0, count() FROM {self.firsts(scope, where)} GROUP BY quarter)"
            f" WHERE quarter >= {first:d} AND quarter < {last:d}"
        )

    def raw_groups(self, scope: Scope, group: str, first: int, last: int) -> Rows:
        """(group, clicks, visitors), from single clicks: a visitor counts once a day for each group."""
        where = self.raw(scope, first, last)
        return self.server.query(self.groups(scope, where, group, first), **where.values)

    def groups(self, scope: Scope, where: Condition, group: str, first: int) -> str:
        links = ", link_id" if scope.link_ids is not None and group != "link_id" else ""
        begin = first * QUARTER_MS
        return (
            f"SELECT g, sum(n) AS clicks, countIf(who != '' AND came >= {begin:d}) AS visitors FROM"
            f" (SELECT {group} AS g, visitor AS who, min(time_ms) AS came,"
            f" countIf(time_ms >= {begin:d}) AS n FROM click WHERE {where.text}"
            f" GROUP BY g, {DAY}, who{links}) WHERE n > 0 GROUP BY g"
        )

    def values(self, scope: Scope, name: str, first: int, last: int, rolled: Days) -> Rows:
        """(value, clicks, visitors), of these days and of removed ones from what is rolled up, of all others
        from single clicks."""
        where = self.raw(scope, first, last, rolled)
        is_held = self.held(scope, first, last, rolled, gone=is_mostly(first, last))
        singles = self.groups(scope, where, f"toString({VALUE_COLUMNS[name]})", first)
        return self.server.query(
            f"SELECT g, sum(clicks), sum(visitors) FROM ({singles} UNION ALL"
            " SELECT value, sum(pageviews), sum(visitors) FROM day_value"
            f" WHERE {of_values(scope, name)} AND {is_held} GROUP BY value) GROUP BY g",
            **where.values,
        )

    def last_removed(self, workspace_id: int, first: int, last: int) -> int | None:
        """The last of these UTC days whose single clicks are removed."""
        all_ = Scope(workspace_id, is_bot=None)
        [(found,)] = self.server.query(
            f"SELECT maxOrNull(day) FROM day_value WHERE {of_rolled(all_)} AND dimension = {CHECKED}"
            f" AND {self.held(all_, first, last, {})}"
            f" AND day BETWEEN {first // QUARTERS:d} AND {(last - 1) // QUARTERS:d}"
        )
        return None if found is None else int(found)


def of_sums(scope: Scope, first: int, last: int) -> str:
    table = "owner_quarter" if scope.link_ids is None else "link_quarter"
    mine = f"{of_owner(scope)} AND {of_bots(scope)}"
    return f"FROM {table} WHERE {mine} AND quarter >= {first:d} AND quarter < {last:d}"


def of_values(scope: Scope, name: str) -> str:
    return f"{of_rolled(scope)} AND {of_bots(scope)} AND dimension = {DIMENSIONS[name].number:d}"


def is_mostly(first: int, last: int) -> str:
    """Whether a day's noon is within: that decides for a day that can't be divided any more."""
    middle = f"toInt64(day) * {QUARTERS} + {noon(0):d}"
    return f"{middle} >= {first:d} AND {middle} < {last:d}"
