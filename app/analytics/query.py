"""A statistics query, and the days of it that can be answered."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from app.analytics.dimensions import OVERVIEW
from app.analytics.periods import ONE_DAY, QUARTERS, Period
from app.analytics.scope import Scope

Covered = tuple[int, tuple[dt.date, dt.date] | None]


@dataclass(frozen=True, kw_only=True)
class StatisticsQuery:
    """A statistics query. Both days are included.

    `link_ids` None means all of the user's links. Else the caller has checked that they are the user's; the
    visitors of several links are counted for each and added up. A filter's value None means unknown.
    """

    workspace_id: int
    start: dt.date
    end: dt.date
    zone: ZoneInfo
    link_ids: tuple[int, ...] | None = None
    type: str = OVERVIEW
    bots: bool = False
    filters: Mapping[str, str | None] = field(default_factory=dict)
    limit: int = 100

    @property
    def period(self) -> Period:
        return Period(self.start, self.end, self.zone)

    @property
    def scope(self) -> Scope:
        return Scope(self.workspace_id, self.link_ids, self.bots, self.filters)


def covered_after(pruned: int | None, asked: StatisticsQuery) -> Covered:
    """The first quarter of an hour that single clicks can answer, and the days covered, if these are not all.

    `pruned`: the last UTC day of the period whose single clicks are removed.
    """
    period = asked.period
    if pruned is None:
        return period.first, None
    missing = min(bisect_left(period.begins, (pruned + 1) * QUARTERS), len(period.days))
    return period.begins[missing], (asked.start + missing * ONE_DAY, asked.end)
