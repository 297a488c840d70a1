"""State of the statistics pages in the address, the periods that it means, and how figures are written."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app.dashboard.statistics import figures, periods
from app.dashboard.statistics.periods import MENU, PeriodChoice, Span, date_of, folded, intervals, plus_months
from app.dashboard.statistics.state import PageState, read

TODAY = dt.date(2026, 11, 21)
FIRST = dt.date(2025, 6, 3)

SAME = {
    "nothing": {},
    "a period": {"period": "7d"},
    "another day": {"period": "day", "date": "2026-11-20"},
    "days of one's own": {"period": "custom", "start_date": "2026-01-05", "end_date": "2026-01-06"},
    "no comparison": {"compare": "off"},
    "a filter": {"country_code": "DE"},
    "filters, one of what is unknown": {"country_code": "DE", "referrer_host": ""},
    "other views": {
        "metric": "visitors",
        "interval": "week",
        "sources": "referrer_path",
        "places": "city_name",
    },
    "everything": {
        "period": "year",
        "date": "2025-05-05",
        "compare": "year",
        "bots": "1",
        "metric": "visitors",
        "destination": "https://a.example/?x=1&y=2#z",
    },
}


@pytest.mark.parametrize("asked", SAME.values(), ids=SAME)
def test_an_address_is_written_as_it_was_read(asked: dict[str, str]) -> None:
    state, wrong = read(asked, TODAY, FIRST)
    assert not wrong
    assert state.query() == asked


SHORTER: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "what is so anyway": (
        {
            "period": "30d",
            "compare": "previous",
            "bots": "0",
            "metric": "pageviews",
            "sources": "referrer_host",
        },
        {},
    ),
    "today": ({"period": "day", "date": "2026-11-21"}, {"period": "day"}),
    "a day to come": ({"period": "day", "date": "2026-12-24"}, {"period": "day"}),
    "a date for a period that has none": ({"period": "7d", "date": "2026-11-01"}, {"period": "7d"}),
    "what nobody knows": ({"x": "y", "whole": "1"}, {}),
    "untouched controls": ({"period": "", "start_date": "", "bots": ""}, {}),
    "days to come": (
        {"period": "custom", "start_date": "2026-11-01", "end_date": "2027-11-01"},
        {"period": "custom", "start_date": "2026-11-01", "end_date": "2026-11-21"},
    ),
}


@pytest.mark.parametrize(("asked", "said"), SHORTER.values(), ids=SHORTER)
def test_an_address_says_no_more_than_it_must(asked: dict[str, str], said: dict[str, str]) -> None:
    state, wrong = read(asked, TODAY, FIRST)
    assert not wrong
    assert state.query() == said


WRONG: dict[str, tuple[dict[str, str], list[str]]] = {
    "a period": ({"period": "fortnight"}, ["period"]),
    "no date": ({"period": "day", "date": "2026-02-30"}, ["date"]),
    "a date of another form": ({"period": "day", "date": "20261120"}, ["date"]),
    "the year 1": ({"period": "day", "date": "0001-01-01"}, ["date"]),
    "the year 9999": ({"period": "custom", "start_date": "2026-01-01", "end_date": "9999-12-31"}, ["end_date"]),
    "an end before the start": (
        {"period": "custom", "start_date": "2026-01-02", "end_date": "2026-01-01"}, ["end_date"]),
    "no days of one's own": ({"period": "custom"}, ["start_date", "end_date"]),
    "several": ({"period": "x", "compare": "y", "bots": "z", "metric": "w", "interval": "v"},
                ["period", "compare", "bots", "metric", "interval"]),
    "control characters": ({"city_name": "a\0b"}, ["city_name"]),
    "a list that the card has not": ({"places": "utm_source"}, ["places"]),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "fields"), WRONG.values(), ids=WRONG)
def test_everything_wrong_is_said_at_once(asked: dict[str, str], fields: list[str]) -> None:
    _, wrong = read(asked, TODAY, FIRST)
    assert [error.field for error in wrong] == fields


def state(**asked: Any) -> PageState:
    return read(asked, TODAY, FIRST)[0]


def test_the_day_before_and_the_next() -> None:
    yesterday = state(period="day", date="2026-11-20")
    assert yesterday.stepped(1) == state(period="day")
    assert yesterday.stepped(-1) == state(period="day", date="2026-11-19")
    assert state(period="day").stepped(1) is None
    assert state(period="month").stepped(-1) == state(period="month", date="2026-10-01")
    assert state(period="year").stepped(-1) == state(period="year", date="2025-01-01")
    assert state(period="7d").stepped(-1) is None


def test_what_is_compared_with() -> None:
    assert state(period="7d").before == Span(dt.date(2026, 11, 8), dt.date(2026, 11, 14))
    assert state(period="7d", compare="year").before == Span(dt.date(2025, 11, 15), dt.date(2025, 11, 21))
    assert state(period="7d", compare="off").before is None
    assert state(period="all").before is None
    assert state(period="realtime", compare="year").before is None


def test_filters_combine_and_go_one_by_one() -> None:
    both = state(country_code="DE").with_filter("browser_name", None)
    assert both.query() == {"country_code": "DE", "browser_name": ""}
    assert both.without_filter("country_code").query() == {"browser_name": ""}


def test_an_interval_that_does_not_fit_is_none() -> None:
    assert state(period="7d", interval="month").interval == "day"
    assert state(period="91d", interval="month").interval == "month"
    assert state(period="all").with_interval("month").query() == {"period": "all"}
    assert state(period="all").with_interval("day").query() == {"period": "all", "interval": "day"}


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


@pytest.mark.parametrize(
    ("now", "before", "told"),
    [
        (112, 100, ("+12%", "up")),
        (50, 100, ("−50%", "down")),
        (0, 100, ("−100%", "down")),
        (1001, 1000, ("0%", "")),
        (20_000, 10, ("+199,900%", "up")),
        (5, 0, None),
        (0, 0, None),
    ],
)
def test_changes(now: int, before: int, told: tuple[str, str] | None) -> None:
    assert figures.change(now, before) == told


@pytest.mark.parametrize(
    ("part", "whole", "told"),
    [(1, 3, "33%"), (1, 1000, "<1%"), (0, 9, "0%"), (0, 0, "0%"), (9, 9, "100%")],
)
def test_shares(part: int, whole: int, told: str) -> None:
    assert figures.share(part, whole) == told


def test_shades() -> None:
    assert [figures.shade(count, 60) for count in (0, 1, 10, 11, 59, 60)] == [0, 1, 1, 2, 6, 6]
    assert [figures.shade_of_size(count, 1_000_000) for count in (0, 1, 1000, 1_000_000)] == [0, 1, 3, 6]
    assert [figures.shade(1, 1), figures.shade_of_size(1, 1), figures.shade(0, 0)] == [6, 6, 0]


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (1234, "1.2k"),
        (99_999, "99.9k"),
        (123_456, "123k"),
        (1_999_999, "1.9m"),
    ],
)
def test_short_numbers(number: int, told: str) -> None:
    assert figures.compact(number) == told


def test_the_first_and_last_week_are_those_days_that_were_asked_for() -> None:
    asked = Span(dt.date(2026, 11, 4), dt.date(2026, 11, 21))
    weeks = [dt.date(2026, 11, day) for day in (2, 9, 16)]
    told = ["4 to 8 Nov 2026", "9 to 15 Nov 2026", "16 to 21 Nov 2026"]
    assert [figures.part_words(week, "week", asked) for week in weeks] == told
