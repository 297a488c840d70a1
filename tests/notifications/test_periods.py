"""Periods of reports: each is due once, at the owner's hour, whatever the clocks of the time zone do."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from app.notifications.periods import ReportPeriod, ending, report_due_at, to_tell

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


@pytest.mark.parametrize(
    ("name", "end", "start", "before"),
    [
        ("daily", "2026-03-01", "2026-03-01", ("2026-02-28", "2026-02-28")),
        ("weekly", "2026-11-22", "2026-11-16", ("2026-11-09", "2026-11-15")),
        ("monthly", "2026-03-31", "2026-03-01", ("2026-02-01", "2026-02-28")),
        ("monthly", "2024-02-29", "2024-02-01", ("2024-01-01", "2024-01-31")),
    ],
)
def test_where_a_period_begins_and_what_came_before(name, end, start, before):
    period = ending(name, day(end))
    assert (period.start, period.end) == (day(start), day(end))
    assert (period.previous().start, period.previous().end) == tuple(map(day, before))


@pytest.mark.parametrize(
    ("zone", "end", "hour", "moment"),
    [
        ("UTC", "2026-11-20", 8, "2026-11-21 08:00"),
        ("Europe/Berlin", "2026-11-20", 8, "2026-11-21 07:00"),
        ("Europe/Berlin", "2026-07-20", 8, "2026-07-21 06:00"),
        ("Asia/Kathmandu", "2026-11-20", 8, "2026-11-21 02:15"),
        ("Pacific/Apia", "2026-11-20", 0, "2026-11-20 11:00"),
        # 02:00 to 03:00 is skipped: due when it would have begun
        ("Europe/Berlin", "2026-03-28", 2, "2026-03-29 01:00"),
        ("Europe/Berlin", "2026-03-28", 3, "2026-03-29 01:00"),
        # 02:00 to 03:00 comes twice: the first one counts
        ("Europe/Berlin", "2026-10-24", 2, "2026-10-25 00:00"),
        ("Europe/Berlin", "2026-10-24", 3, "2026-10-25 02:00"),
        # the clocks go forward at midnight
        ("Africa/Cairo", "2026-04-23", 0, "2026-04-23 22:00"),
    ],
)  # fmt: skip
def test_when_a_day_is_told(zone, end, hour, moment):
    assert report_due_at(ending("daily", day(end)), hour, ZoneInfo(zone)) == at(moment)


@pytest.mark.parametrize(
    ("name", "since", "now", "ends"),
    [
        ("daily", "2026-11-20 00:00", "2026-11-20 06:59", []),
        ("daily", "2026-11-20 00:00", "2026-11-20 07:00", ["2026-11-19"]),
        ("daily", "2026-11-20 07:00", "2026-11-20 07:00", []),
        (
            "daily",
            "2026-11-17 00:00",
            "2026-11-20 12:00",
            ["2026-11-16", "2026-11-17", "2026-11-18", "2026-11-19"],
        ),
        ("weekly", "2026-11-01 00:00", "2026-11-20 12:00", ["2026-11-01", "2026-11-08", "2026-11-15"]),
        ("monthly", "2026-09-15 00:00", "2026-11-20 12:00", ["2026-09-30", "2026-10-31"]),
        ("never", "2026-01-01 00:00", "2026-11-20 12:00", []),
    ],
    ids=["before the hour", "at it", "changed just then", "after a pause", "weeks", "months", "never"],
)
def test_what_is_to_be_told(name, since, now, ends):
    assert [str(period.end) for period in to_tell(name, 8, BERLIN, at(since), at(now))] == ends


def test_over_a_whole_year_every_day_is_told_once_at_every_hour():
    start = at("2026-01-01 00:00")
    for hour in range(24):
        times = [
            report_due_at(ReportPeriod("daily", d, d), hour, BERLIN)
            for d in (day("2026-01-01") + dt.timedelta(n) for n in range(365))
        ]
        told = []
        for number in range(366):
            since, now = start + dt.timedelta(days=number), start + dt.timedelta(days=number + 1)
            told += [period.end for period in to_tell("daily", hour, BERLIN, since, now)]
        assert len(told) == len(set(told)) >= 365
        assert times == sorted(times)
