"""State of the statistics pages in the address: read strictly, and written back with the same meaning."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app.dashboard.statistics.periods import Span
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
