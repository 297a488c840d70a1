"""The interface through which everything reads the statistics of clicks.

There is an implementation for the SQL databases (`sql_reader`), whose statements differ little between SQLite
and PostgreSQL, and one for ClickHouse (`clickhouse/reader`). tests/analytics/contract holds all of them to
the same figures.
"""

# see docs/decisions/2026-11-25-clickhouse.md
from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from app.analytics.periods import Period
from app.analytics.query import StatisticsQuery
from app.analytics.scope import Scope, VisitCounts
from app.redirects.user_agent import Device

Quarters = dict[int, VisitCounts]
Shares = dict[Any, VisitCounts]  # by a value in the reader's own terms, which `rank_values` turns into texts
Counts = list[tuple[int, VisitCounts]]


@dataclass(frozen=True, kw_only=True)
class LatestVisit:
    """One click. Empty means unknown."""

    id: int
    datetime: dt.datetime
    link_id: int
    device: Device
    country_code: str
    city_name: str
    language: str
    referrer_host: str
    referrer_path: str
    utm_source: str
    destination: str
    bot_name: str


class VisitPage(NamedTuple):
    """Some single clicks as texts; `last` is where to go on, None where there are no more."""

    rows: list[list[Any]]
    last: tuple[int, int] | None


class ClickBatch(NamedTuple):
    """Clicks that were ingested together: the first and last of their ids and of their times."""

    first_id: int
    last_id: int
    first_ms: int
    last_ms: int


class ToldClick(NamedTuple):
    """One click as it is told to others. `texts`: as `batches.TOLD` names them, None for unknown."""

    id: int
    time_ms: int
    link_id: int
    is_bot: bool
    texts: tuple[str | None, ...]


class ClickReader(Protocol):
    """Reads clicks. Periods are quarters of an hour since 1970: `first` is included, `last` is not."""

    def first_day(self, user_id: int) -> int | None:
        """The first UTC day with clicks on the owner's links."""

    def has_visits(self, link_ids: Sequence[int]) -> bool:
        """Whether any of the links has a click, a bot's included, as far as that is still known."""

    def count_rows(self, user_id: int) -> int:
        """How many single clicks of the owner are kept."""

    def last_pruned(self, user_id: int, first: int, last: int) -> int | None:
        """The last of these UTC days whose single clicks are removed."""

    def by_day(self, scope: Scope, period: Period) -> list[VisitCounts]:
        """Counts of each day of the period, without filters."""

    def by_quarter(self, scope: Scope, first: int, last: int) -> Quarters:
        """Counts of each quarter of an hour; with filters from the single clicks."""

    def of_filter(self, scope: Scope, first: int, last: int) -> Quarters:
        """Counts with the scope's only filter. Those of a pruned day are at its noon."""

    def of_links(self, links: Sequence[int], period: Period) -> dict[int, list[int]]:
        """Human clicks on each link on each day of the period."""

    def by_link(self, scope: Scope, first: int, last: int) -> dict[int, int]:
        """The single clicks on each link, deleted ones too."""

    def by_value(self, scope: Scope, name: str, first: int, last: int) -> Shares:
        """Counts of each value of a dimension."""

    def rank_values(self, found: Shares, limit: int) -> list[tuple[str | None, VisitCounts]]:
        """The values with most clicks, as texts; ties by visitors, then by name, unknown last."""

    def top_links(self, asked: StatisticsQuery) -> Counts:
        """The existing links with most clicks by id, in descending order, at most `asked.limit` of them."""

    def latest_visits(self, asked: StatisticsQuery, limit: int = 20) -> list[LatestVisit]:
        """The last clicks within the period, the newest first."""

    def latest_click(self, link_id: int) -> dt.datetime | None:
        """The time of a person's last click on a link, among the clicks that are kept."""

    def by_minute(self, asked: StatisticsQuery, now: dt.datetime, minutes: int) -> list[VisitCounts]:
        """Counts of each of the last minutes, the current one last."""

    def visit_page(self, scope: Scope, asked: StatisticsQuery, after: tuple[int, int]) -> VisitPage:
        """The single clicks after a time in ms and an id, oldest first."""

    def told_clicks(
        self, workspace_id: int, batches: Sequence[ClickBatch], link_id: int | None = None
    ) -> list[ToldClick]:
        """The clicks of a workspace in these batches, by id; with `link_id` only those on that link."""
