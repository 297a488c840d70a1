"""Periods: the days that each line of the menu means, and the days they are compared with."""

from __future__ import annotations

import datetime as dt

import pytest

from app.dashboard.statistics import periods
from app.dashboard.statistics.periods import MENU, PeriodChoice, Span, date_of, folded, intervals, plus_months

TODAY = dt.date(2026, 11, 21)  # a Saturday
FIRST = dt.date(2025, 6, 3)


def days(text: str) -> Span:
    start, _, end = text.partition(" ")
    return Span(dt.date.fromisoformat(start), dt.date.fromisoformat(end or start))


# by the letter of the period: the days shown, and the days they are compared with
KEYS = {
    "D": ("2026-11-21", "2026-11-20"),
    "E": ("2026-11-20", "2026-11-19"),
    "R": ("2026-11-21", None),
    "W": ("2026-11-15 2026-11-21", "2026-11-08 2026-11-14"),
    "F": ("2026-10-25 2026-11-21", "2026-09-27 2026-10-24"),
    "T": ("2026-10-23 2026-11-21", "2026-09-23 2026-10-22"),
    "N": ("2026-08-23 2026-11-21", "2026-05-24 2026-08-22"),
    "M": ("2026-11-01 2026-11-21", "2026-10-01 2026-10-21"),
    "P": ("2026-10-01 2026-10-31", "2026-09-01 2026-09-30"),
    "Y": ("2026-01-01 2026-11-21", "2025-01-01 2025-11-21"),
    "S": ("2026-06-01 2026-11-21", "2025-12-01 2026-05-21"),
    "L": ("2025-12-01 2026-11-21", "2024-12-01 2025-11-21"),
    "A": ("2025-06-03 2026-11-21", None),
}
CHOICES = {choice.key: choice for group in MENU for choice in group}


def test_the_letters() -> None:
    assert list(CHOICES) == list(KEYS)


@pytest.mark.parametrize(("key", "shown", "before"), [(key, *row) for key, row in KEYS.items()])
def test_the_menu(key: str, shown: str, before: str | None) -> None:
    choice: PeriodChoice = CHOICES[key]
    span = periods.span(choice.period, date_of(choice, TODAY) or TODAY, TODAY, FIRST)
    assert span == days(shown)
    if before:
        assert periods.before(choice.period, span) == days(before)


@pytest.mark.parametrize(
    ("period", "date", "shown", "before"),
    [
        ("month", "2024-02-10", "2024-02-01 2024-02-29", "2024-01-01 2024-01-31"),
        ("month", "2026-03-31", "2026-03-01 2026-03-31", "2026-02-01 2026-02-28"),
        ("year", "2025-07-01", "2025-01-01 2025-12-31", "2024-01-01 2024-12-31"),
        ("day", "2026-03-01", "2026-03-01", "2026-02-28"),
    ],
)
def test_days_months_and_years_gone_by(period: str, date: str, shown: str, before: str) -> None:
    span = periods.span(period, dt.date.fromisoformat(date), TODAY, FIRST)
    assert span == days(shown)
    assert periods.before(period, span) == days(before)


def test_a_month_that_lasts_is_compared_with_no_more_than_the_whole_one_before() -> None:
    today = dt.date(2026, 3, 30)
    span = periods.span("month", today, today, FIRST)
    assert periods.before("month", span) == days("2026-02-01 2026-02-28")


def test_a_year_before() -> None:
    assert periods.year_before(days("2024-02-29 2024-03-01")) == days("2023-02-28 2023-03-01")


@pytest.mark.parametrize(
    ("date", "months", "there"),
    [
        ("2026-01-31", 1, "2026-02-28"),
        ("2024-03-31", -1, "2024-02-29"),
        ("2026-11-30", 14, "2028-01-30"),
        ("2026-01-01", -1, "2025-12-01"),
        ("0001-01-05", -12, "0001-01-01"),
        ("9999-12-05", 1, "9999-12-31"),
    ],
)
def test_months_on(date: str, months: int, there: str) -> None:
    assert plus_months(dt.date.fromisoformat(date), months) == dt.date.fromisoformat(there)


@pytest.mark.parametrize(
    ("shown", "known"),
    [
        ("2026-11-21", ("hour",)),
        ("2026-11-15 2026-11-21", ("day",)),
        ("2026-10-23 2026-11-21", ("day", "week")),
        ("2026-08-23 2026-11-21", ("day", "week", "month")),
        ("2026-06-01 2026-11-21", ("week", "day", "month")),
        ("2025-06-03 2026-11-21", ("month", "week", "day")),
    ],
)
def test_how_finely_days_are_told(shown: str, known: tuple[str, ...]) -> None:
    assert intervals(days(shown)) == known


def test_weeks_begin_on_mondays_and_days_add_up() -> None:
    counts = {TODAY - n * periods.Day: (n + 1, 1) for n in range(8)}
    weeks = {dt.date(2026, 11, 9): (8 + 7, 2), dt.date(2026, 11, 16): (6 + 5 + 4 + 3 + 2 + 1, 6)}
    assert folded(dict(sorted(counts.items())), "week") == weeks
    assert folded(counts, "month") == {dt.date(2026, 11, 1): (36, 8)}
    assert folded(counts, "day") == counts
