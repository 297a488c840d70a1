"""Periods: the days of a time zone as quarters of an hour.

Clicks are summed by quarters of an hour, because days and hours of every time zone begin and end with one.
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
    """Days from `start` to `end`, both included, in a time zone's calendar."""

    def __init__(self, start: dt.date, end: dt.date, zone: ZoneInfo) -> None:
        self.start, self.end, self.zone = start, end, zone

    @property
    def days(self) -> list[dt.date]:
        return [*iterate_days(self.start, self.end)]

    @cached_property
    def begins(self) -> list[int]:
        """The first quarter of each day, and that of the day after the last."""
        return [midnight(day, self.zone) for day in iterate_days(self.start, self.end + ONE_DAY)]

    @property
    def first(self) -> int:
        """The first quarter of an hour of the period."""
        return midnight(self.start, self.zone)

    @property
    def last(self) -> int:
        """The first quarter of an hour after the period."""
        return midnight(self.end + ONE_DAY, self.zone)

    def number(self, quarter: int) -> int:
        """The index of the day on which this quarter of an hour lies, from 0."""
        return bisect_right(self.begins, quarter) - 1

    def hour(self, quarter: int) -> int:
        """The local hour of a quarter. (An hour that comes twice when clocks are set back counts as one.)"""
        return start_of_quarter(quarter, self.zone).hour


def iterate_days(start: dt.date, end: dt.date) -> Iterator[dt.date]:
    for number in range((end - start).days + 1):
        yield start + number * ONE_DAY


def midnight(day: dt.date, zone: ZoneInfo) -> int:
    """The quarter of an hour with which a day begins; where clocks skip midnight, the one they skip to."""
    begin = dt.datetime.combine(day, dt.time(), zone)
    return int(begin.timestamp()) * 1000 // QUARTER_MS


def start_of_quarter(quarter: int, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.fromtimestamp(quarter * QUARTER_MS // 1000, zone)


def day_number(day: dt.date) -> int:
    """A UTC day as the click tables store it: days since 1970."""
    return (day - EPOCH).days
