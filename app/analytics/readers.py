"""Readers of clicks, through which everything reads statistics.

There is one for the SQL databases, whose statements differ little between SQLite and PostgreSQL, and one for
ClickHouse (`clickhouse/reader`). tests/analytics/contract holds both to the same figures.
"""

# see docs/decisions/2026-11-25-clickhouse.md
from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.engine import Connection

from app.analytics import breakdown, day_state, raw_queries, single_clicks, top_links, totals
from app.analytics.click_reader import (
    ClickBatch,
    Counts,
    LatestVisit,
    Quarters,
    Shares,
    ToldClick,
    VisitPage,
)
from app.analytics.clickhouse.reader import ClickHouseReader
from app.analytics.periods import EPOCH, ONE_DAY, Period
from app.analytics.query import StatisticsQuery
from app.analytics.rollup_models import OwnerDay
from app.analytics.scope import Bind, Scope, VisitCounts
from app.core.database import CLICKHOUSE


class SqlReader:
    """Reads on a session or connection of the caller, in the caller's transaction.

    Periods are quarters of an hour since 1970: `first` is included, `last` is not.
    """

    def __init__(self, bind: Bind) -> None:
        self._bind = bind

    def first_day(self, workspace_id: int) -> int | None:
        """The first UTC day with clicks on the owner's links."""
        return day_state.first_day(self._bind, workspace_id)

    def has_visits(self, link_ids: Sequence[int]) -> bool:
        """Whether any of the links has a click, a bot's included, as far as that is still known."""
        return day_state.has_visits(self._bind, link_ids)

    def count_rows(self, workspace_id: int) -> int:
        """How many single clicks of the owner are kept."""
        rows = select(func.sum(OwnerDay.visits)).where(OwnerDay.workspace_id == workspace_id)
        return int(self._bind.scalar(rows) or 0)

    def last_pruned(self, workspace_id: int, first: int, last: int) -> int | None:
        """The last of these UTC days whose single clicks are removed."""
        return day_state.last_pruned(self._bind, workspace_id, first, last)

    def by_day(self, scope: Scope, period: Period) -> list[VisitCounts]:
        """Counts of each day of the period, without filters."""
        return totals.by_day(self._bind, scope, period)

    def by_quarter(self, scope: Scope, first: int, last: int) -> Quarters:
        """Counts of each quarter of an hour; with filters from the single clicks."""
        found = raw_queries.by_quarter if scope.filters else totals.by_quarter
        return found(self._bind, scope, first, last)

    def of_filter(self, scope: Scope, first: int, last: int) -> Quarters:
        """Counts with the scope's only filter. Those of a pruned day are at its noon."""
        return breakdown.of_filter(self._bind, scope, first, last)

    def of_links(self, links: Sequence[int], period: Period) -> dict[int, list[int]]:
        """Human clicks on each link on each day of the period."""
        return totals.of_links(self._bind, links, period)

    def by_link(self, scope: Scope, first: int, last: int) -> dict[int, int]:
        """The single clicks on each link, deleted ones too."""
        return raw_queries.by_link(self._bind, scope, first, last)

    def by_value(self, scope: Scope, name: str, first: int, last: int) -> Shares:
        """Counts of each value of a dimension."""
        return breakdown.by_value(self._bind, scope, name, first, last)

    def rank_values(self, found: Shares, limit: int) -> list[tuple[str | None, VisitCounts]]:
        """The values with most clicks, as texts; ties by visitors, then by name, unknown last."""
        return breakdown.rank_values(self._bind, found, limit)

    def top_links(self, asked: StatisticsQuery) -> Counts:
        """The existing links with most clicks by id, in descending order, at most `asked.limit` of them."""
        return top_links.by_link(self._bind, asked)

    def latest_visits(self, asked: StatisticsQuery, limit: int = 20) -> list[LatestVisit]:
        """The last clicks within the period, the newest first."""
        return single_clicks.latest_visits(self._bind, asked, limit)

    def latest_click(self, link_id: int) -> dt.datetime | None:
        """The time of a person's last click on a link, among the clicks that are kept."""
        return single_clicks.latest_click(self._bind, link_id)

    def by_minute(self, asked: StatisticsQuery, now: dt.datetime, minutes: int) -> list[VisitCounts]:
        """Counts of each of the last minutes, the current one last."""
        return single_clicks.by_minute(self._bind, asked, now, minutes)

    def visit_page(self, scope: Scope, asked: StatisticsQuery, after: tuple[int, int]) -> VisitPage:
        """The single clicks after a time in ms and an id, oldest first."""
        return single_clicks.visit_page(self._bind, scope, asked, after)

    def told_clicks(
        self, workspace_id: int, batches: Sequence[ClickBatch], link_id: int | None = None
    ) -> list[ToldClick]:
        """The clicks of a workspace in these batches, by id; with `link_id` only those on that link."""
        return single_clicks.told_clicks(self._bind, workspace_id, batches, link_id)


ClickReader = SqlReader | ClickHouseReader


def reader_of(bind: Bind) -> ClickReader:
    engine = bind.engine if isinstance(bind, Connection) else bind.get_bind()
    address = engine.get_execution_options().get(CLICKHOUSE)
    return SqlReader(bind) if address is None else ClickHouseReader(address, bind)


def first_moment(bind: Bind, workspace_id: int) -> dt.datetime | None:
    """When the first of the owner's days with clicks begins."""
    found = reader_of(bind).first_day(workspace_id)
    return None if found is None else dt.datetime.combine(EPOCH + found * ONE_DAY, dt.time(), dt.UTC)
