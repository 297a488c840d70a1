"""Which period of days does a report tell of, and when is it time to tell it?

Days are those of the owner's time zone; a report comes on the day after its period, at an hour of that zone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

DAY = dt.timedelta(days=1)
# after a longer pause older periods are left out: nobody reads two months of daily reports at once
CAUGHT_UP = dt.timedelta(days=62)

NEVER = "never"
# how the first day of a period is known
FIRST: dict[str, Callable[[dt.date], bool]] = {
    "daily": lambda day: True,  # noqa: ARG005
    "weekly": lambda day: day.weekday() == 0,
    "monthly": lambda day: day.day == 1,
}


@dataclass(frozen=True)
class Period:
    """Both days are included."""

    name: str
    start: dt.date
    end: dt.date

    def previous(self) -> Period:
        return ending(self.name, self.start - DAY)


def ending(name: str, end: dt.date) -> Period:
    """The period of this name whose last day that is."""
    start = end
    while not FIRST[name](start):
        start -= DAY
    return Period(name, start, end)


def told_at(period: Period, hour: int, zone: ZoneInfo) -> dt.datetime:
    """Where the clocks skip that hour, it is the moment they do; where they repeat it, the first one."""
    return dt.datetime.combine(period.end + DAY, dt.time(hour), zone).astimezone(dt.UTC)


def to_tell(name: str, hour: int, zone: ZoneInfo, since: dt.datetime, now: dt.datetime) -> list[Period]:
    """Those whose time came after `since` and not after `now`, the oldest first."""
    if name not in FIRST:
        return []
    since = max(since, now - CAUGHT_UP)
    first = since.astimezone(zone).date()
    last = now.astimezone(zone).date()
    days = [first + number * DAY for number in range((last - first).days + 1)]
    periods = [ending(name, day - DAY) for day in days if FIRST[name](day)]
    return [period for period in periods if since < told_at(period, hour, zone) <= now]
