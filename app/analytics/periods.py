"""Which moments make up a day of somebody's time zone?

Visits are added up by quarters of an hour, for every zone's days and hours begin and end with one.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from zoneinfo import ZoneInfo

QUARTER_MS = 15 * 60 * 1000
DAY_MS = 24 * 60 * 60 * 1000
QUARTERS = DAY_MS // QUARTER_MS
ONE_DAY = dt.timedelta(days=1)
EPOCH = dt.date(1970, 1, 1)


class Period:
    """Days from `start` to `end`, both included, as a zone's calendar has them."""

    def __init__(self, start: dt.date, end: dt.date, zone: ZoneInfo) -> None:
        self.start, self.end, self.zone = start, end, zone

    @property
    def days(self) -> list[dt.date]:
        return [*days(self.start, self.end)]

    @cached_property
    def begins(self) -> list[int]:
        """The quarter each day begins with, and the one that the day after the last does."""
        return [midnight(day, self.zone) for day in days(self.start, self.end + ONE_DAY)]

    @property
    def first(self) -> int:
        """The first quarter of an hour of the period."""
        return midnight(self.start, self.zone)

    @property
    def last(self) -> int:
        """The first quarter of an hour after the period."""
        return midnight(self.end + ONE_DAY, self.zone)

    def number(self, quarter: int) -> int:
        """On which of the days this quarter of an hour is, counting from 0."""
        return bisect_right(self.begins, quarter) - 1

    def hour(self, quarter: int) -> int:
        """What the clock's hour was. (An hour that came twice, as clocks were put back, is one.)"""
        return moment(quarter, self.zone).hour


def days(start: dt.date, end: dt.date) -> Iterator[dt.date]:
    for number in range((end - start).days + 1):
        yield start + number * ONE_DAY


def midnight(day: dt.date, zone: ZoneInfo) -> int:
    """The quarter of an hour that a day begins with; where clocks skip midnight, the one they skip to."""
    begin = dt.datetime.combine(day, dt.time(), zone)
    return int(begin.timestamp()) * 1000 // QUARTER_MS


def moment(quarter: int, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.fromtimestamp(quarter * QUARTER_MS // 1000, zone)


def day_number(day: dt.date) -> int:
    """A UTC day as the clicks have it: days since 1970."""
    return (day - EPOCH).days
