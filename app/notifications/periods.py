"""Periods of reports, and the moments at which reports are due.

Days are those of the owner's time zone. A report is due on the day after its period, at an hour of that zone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

DAY = dt.timedelta(days=1)
# after a longer pause older periods are skipped: two months of daily reports at once are of no use
CAUGHT_UP = dt.timedelta(days=62)

NEVER = "never"
# whether a day is the first one of a period
FIRST: dict[str, Callable[[dt.date], bool]] = {
    "daily": lambda day: True,  # noqa: ARG005
    "weekly": lambda day: day.weekday() == 0,
    "monthly": lambda day: day.day == 1,
}


@dataclass(frozen=True)
class ReportPeriod:
    """A period of days, both ends included."""

    name: str
    start: dt.date
    end: dt.date

    def previous(self) -> ReportPeriod:
        return ending(self.name, self.start - DAY)


def ending(name: str, end: dt.date) -> ReportPeriod:
    """The period of this name whose last day is `end`."""
    start = end
    while not FIRST[name](start):
        start -= DAY
    return ReportPeriod(name, start, end)


def report_due_at(period: ReportPeriod, hour: int, zone: ZoneInfo) -> dt.datetime:
    """When the report of a period is due, in UTC.

    Where the clocks skip that hour, it is the moment of the change; where they repeat it, the first one.
    """
    return dt.datetime.combine(period.end + DAY, dt.time(hour), zone).astimezone(dt.UTC)


def to_tell(name: str, hour: int, zone: ZoneInfo, since: dt.datetime, now: dt.datetime) -> list[ReportPeriod]:
    """The periods whose report came due after `since` and not after `now`, the oldest first."""
    if name not in FIRST:
        return []
    since = max(since, now - CAUGHT_UP)
    first = since.astimezone(zone).date()
    last = now.astimezone(zone).date()
    days = [first + number * DAY for number in range((last - first).days + 1)]
    periods = [ending(name, day - DAY) for day in days if FIRST[name](day)]
    return [period for period in periods if since < report_due_at(period, hour, zone) <= now]
