"""What a reader of clicks returns (see `readers`)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.analytics.scope import VisitCounts
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
