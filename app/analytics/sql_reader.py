"""Reads clicks in SQLite and PostgreSQL: `ClickReader` over the tables of `models` and `rollup_models`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import func, select

from app.analytics import batches as click_batches
from app.analytics import breakdown, day_state, latest, raw_queries, top_links, totals, visit_pages
from app.analytics.click_reader import (
    ClickBatch,
    Counts,
    LatestVisit,
    Quarters,
    Shares,
    ToldClick,
    VisitPage,
)
from app.analytics.periods import Period
from app.analytics.query import StatisticsQuery
from app.analytics.rollup_models import OwnerDay
from app.analytics.scope import Bind, Scope, VisitCounts


class SqlReader:
    """Reads on a session or connection of the caller, in the caller's transaction."""

    def __init__(self, bind: Bind) -> None:
        self._bind = bind

    def first_day(self, user_id: int) -> int | None:
        return day_state.first_day(self._bind, user_id)

    def has_visits(self, link_ids: Sequence[int]) -> bool:
        return day_state.has_visits(self._bind, link_ids)

    def count_rows(self, user_id: int) -> int:
        rows = select(func.coalesce(func.sum(OwnerDay.visits), 0)).where(OwnerDay.user_id == user_id)
        return int(self._bind.scalar(rows) or 0)

    def last_pruned(self, user_id: int, first: int, last: int) -> int | None:
        return day_state.last_pruned(self._bind, user_id, first, last)

    def by_day(self, scope: Scope, period: Period) -> list[VisitCounts]:
        return totals.by_day(self._bind, scope, period)

    def by_quarter(self, scope: Scope, first: int, last: int) -> Quarters:
        found = raw_queries.by_quarter if scope.filters else totals.by_quarter
        return found(self._bind, scope, first, last)

    def of_filter(self, scope: Scope, first: int, last: int) -> Quarters:
        return breakdown.of_filter(self._bind, scope, first, last)

    def of_links(self, links: Sequence[int], period: Period) -> dict[int, list[int]]:
        return totals.of_links(self._bind, links, period)

    def by_link(self, scope: Scope, first: int, last: int) -> dict[int, int]:
        return raw_queries.by_link(self._bind, scope, first, last)

    def by_value(self, scope: Scope, name: str, first: int, last: int) -> Shares:
        return breakdown.by_value(self._bind, scope, name, first, last)

    def rank_values(self, found: Shares, limit: int) -> list[tuple[str | None, VisitCounts]]:
        return breakdown.rank_values(self._bind, found, limit)

    def top_links(self, asked: StatisticsQuery) -> Counts:
        return top_links.by_link(self._bind, asked)

    def latest_visits(self, asked: StatisticsQuery, limit: int = 20) -> list[LatestVisit]:
        return latest.latest_visits(self._bind, asked, limit)

    def latest_click(self, link_id: int) -> dt.datetime | None:
        return latest.latest_click(self._bind, link_id)

    def by_minute(self, asked: StatisticsQuery, now: dt.datetime, minutes: int) -> list[VisitCounts]:
        return latest.by_minute(self._bind, asked, now, minutes)

    def visit_page(self, scope: Scope, asked: StatisticsQuery, after: tuple[int, int]) -> VisitPage:
        return visit_pages.visit_page(self._bind, scope, asked, after)

    def told_clicks(
        self, workspace_id: int, batches: Sequence[ClickBatch], link_id: int | None = None
    ) -> list[ToldClick]:
        return click_batches.told_clicks(self._bind, workspace_id, batches, link_id)
