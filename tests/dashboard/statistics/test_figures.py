"""Formatting of statistics: changes, shares, shades, short numbers, days and sparklines."""

from __future__ import annotations

import datetime as dt

import pytest

from app.dashboard.statistics import figures
from app.dashboard.statistics.periods import Span


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
