"""Reads clicks in ClickHouse: `ClickReader` over its tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from app.analytics import day_state
from app.analytics.click_reader import (
    ClickBatch,
    Counts,
    LatestVisit,
    Quarters,
    Shares,
    ToldClick,
    VisitPage,
)
from app.analytics.clickhouse import batches as click_batches
from app.analytics.clickhouse import single_clicks, top_links
from app.analytics.clickhouse.client import ClickHouse, clickhouse_of
from app.analytics.clickhouse.conditions import VALUE_COLUMNS, numbers
from app.analytics.clickhouse.counting import Counting, Days
from app.analytics.periods import QUARTERS, Period
from app.analytics.query import StatisticsQuery
from app.analytics.scope import BATCH_SIZE, NONE, Bind, Scope, VisitCounts, add_counts


class ClickHouseReader:
    """Reads the clicks there, and through `bind` which links exist. Raises StatisticsUnavailable."""

    def __init__(self, address: str, bind: Bind) -> None:
        self._server: ClickHouse = clickhouse_of(address)
        self._bind = bind
        self._counting = Counting(self._server)

    def first_day(self, workspace_id: int) -> int | None:
        quarters = f"SELECT minOrNull(quarter) FROM owner_quarter WHERE user_id = {workspace_id:d}"
        [(found,)] = self._server.query(quarters)
        return None if found is None else int(found) // QUARTERS

    def has_visits(self, link_ids: Sequence[int]) -> bool:
        parts = (link_ids[start : start + BATCH_SIZE] for start in range(0, len(link_ids), BATCH_SIZE))
        some = "SELECT 1 FROM link_quarter WHERE link_id IN {} LIMIT 1"
        return any(self._server.query(some.format(numbers(part))) for part in parts)

    def count_rows(self, workspace_id: int) -> int:
        removed = numbers(self._counting.shelves(workspace_id).removed)
        kept = f"user_id = {workspace_id:d} AND shelf NOT IN {removed}"
        return int(self._server.query(f"SELECT count() FROM click WHERE {kept}")[0][0])

    def last_pruned(self, workspace_id: int, first: int, last: int) -> int | None:
        return self._counting.last_removed(workspace_id, first, last)

    def by_day(self, scope: Scope, period: Period) -> list[VisitCounts]:
        counts = [NONE] * len(period.days)
        number = {quarter: index for index, quarter in enumerate(period.begins)}
        key = f"roundDown(quarter, {[*period.begins]})"
        for begin, count in self._totals(scope, period.first, period.last, key).items():
            counts[number[begin]] = add_counts([counts[number[begin]], count])
        return counts

    def by_quarter(self, scope: Scope, first: int, last: int) -> Quarters:
        if not scope.filters:
            return self._totals(scope, first, last, "quarter")
        found: Quarters = {}
        for part in scope.parts:
            collect(found, self._counting.raw_quarters(part, first, last))
        return dict(sorted(found.items()))

    def of_filter(self, scope: Scope, first: int, last: int) -> Quarters:
        found: Quarters = {}
        rolled = self._many_rolled(scope, first, last)
        for part in scope.parts:
            collect(found, self._counting.filtered_quarters(part, first, last, rolled))
        return dict(sorted(found.items()))

    def of_links(self, links: Sequence[int], period: Period) -> dict[int, list[int]]:
        counts = {link_id: [0] * len(period.days) for link_id in links}
        number = {quarter: index for index, quarter in enumerate(period.begins)}
        key = f"(link_id, roundDown(quarter, {[*period.begins]}))"
        for part in Scope(0, tuple(links)).parts:
            for (link_id, begin), pageviews in self._counting.pageviews(part, period.first, period.last, key):
                counts[link_id][number[begin]] += int(pageviews)
        return counts

    def by_link(self, scope: Scope, first: int, last: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for part in scope.parts:
            groups = self._counting.raw_groups(part, "link_id", first, last)
            found |= {int(link_id): int(pageviews) for link_id, pageviews, _ in groups}
        return found

    def by_value(self, scope: Scope, name: str, first: int, last: int) -> Shares:
        if [*scope.filters] == [name]:
            counts = add_counts(self.of_filter(scope, first, last).values())
            return {scope.filters[name] or "": counts} if counts.pageviews else {}
        found: Shares = {}
        for part in scope.parts:
            if scope.filters:  # no roll-up holds combinations of values
                collect(found, self._counting.raw_groups(part, VALUE_COLUMNS[name], first, last))
            else:
                rolled = self._whole_days(part, first, last)
                collect(found, self._counting.values(part, name, first, last, rolled))
        return found

    def rank_values(self, found: Shares, limit: int) -> list[tuple[str | None, VisitCounts]]:
        named = [(value or None, count) for value, count in found.items()]
        named.sort(key=lambda pair: (-pair[1].pageviews, -pair[1].visitors, pair[0] is None, pair[0] or ""))
        return named[:limit]

    def top_links(self, asked: StatisticsQuery) -> Counts:
        return top_links.top_links(self._counting, self._bind, asked, self.last_pruned)

    def latest_visits(self, asked: StatisticsQuery, limit: int = 20) -> list[LatestVisit]:
        return single_clicks.latest_visits(self._counting, asked, limit)

    def latest_click(self, link_id: int) -> dt.datetime | None:
        return single_clicks.latest_click(self._counting, link_id)

    def by_minute(self, asked: StatisticsQuery, now: dt.datetime, minutes: int) -> list[VisitCounts]:
        return single_clicks.by_minute(self._counting, asked, now, minutes)

    def visit_page(self, scope: Scope, asked: StatisticsQuery, after: tuple[int, int]) -> VisitPage:
        return single_clicks.visit_page(self._counting, scope, asked, after)

    def told_clicks(
        self, workspace_id: int, batches: Sequence[ClickBatch], link_id: int | None = None
    ) -> list[ToldClick]:
        return click_batches.told_clicks(self._counting, workspace_id, batches, link_id)

    def _totals(self, scope: Scope, first: int, last: int, key: str) -> Quarters:
        found: Quarters = {}
        for part in scope.parts:
            collect(found, self._counting.totals(part, first, last, key))
        return dict(sorted(found.items()))

    def _many_rolled(self, scope: Scope, first: int, last: int) -> Days:
        """The days within that are counted by roll-ups although there is a filter: of all links, and many."""
        days = self._whole_days(scope, first, last)
        return days if sum(each.clicks for each in days.values()) > day_state.MOST_FILTERED else {}

    def _whole_days(self, scope: Scope, first: int, last: int) -> Days:
        """The rolled up days that are within from their beginning to their end."""
        days = self._counting.of_period(scope, first, last).rolled
        return {day: each for day, each in days.items() if day_state.is_whole(day, first, last)}


def collect(found: dict[Any, VisitCounts], rows: Sequence[tuple[Any, ...]]) -> None:
    for key, pageviews, visitors in rows:
        found[key] = add_counts([found.get(key, NONE), VisitCounts(int(pageviews), int(visitors))])
