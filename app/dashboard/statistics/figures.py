"""How are numbers told: how much more or less than before, how dark a shade, how long a bar?"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import NamedTuple

from app.dashboard.statistics.periods import Day, Span
from app.languages import dated, digits, say

SHADES = 6
THOUSAND = 1000
DAY_OF_WEEK = "EEE d MMM y"  # a pattern of Unicode's


class Change(NamedTuple):
    """`+12 %`; the tone is `up`, `down` or `` and says nothing of good or bad."""

    text: str
    tone: str


def change(now: float, before: float) -> Change | None:
    """None where there was nothing before, for no number says how much more than nothing something is."""
    if not before:
        return None
    percent = (now - before) / before * 100
    rounded = round(percent)
    if rounded == 0:
        return Change("0 %", "")
    # a minus sign, not a hyphen: readers aloud say it
    return Change(f"{'+' if rounded > 0 else '−'}{digits(abs(rounded))} %", "up" if rounded > 0 else "down")


def share(part: int, whole: int) -> str:
    """`12 %`; what is there but small is never called nothing."""
    percent = 100 * part / whole if whole else 0
    if 0 < percent < 1:
        return "<1 %"
    return f"{round(percent)} %"


def length(part: int, most: int) -> float:
    """How long a bar is, in percent of the longest."""
    return round(100 * part / most, 2) if most else 0.0


def shade(count: int, most: int) -> int:
    """0 for nothing, else 1 to 6, the more the darker."""
    return -(-SHADES * count // most) if most else 0


def shade_of_size(count: int, most: int) -> int:
    """The same by the order of magnitude: beside one giant, the others still differ."""
    if count <= 0 or most <= 1:
        return SHADES if count > 0 else 0
    return 1 + round((SHADES - 1) * math.log(count) / math.log(most))


def compact(number: int) -> str:
    """`1,234` as `1.2k`."""
    for size, letter in ((THOUSAND**3, "bn"), (THOUSAND**2, "m"), (THOUSAND, "k")):
        if number >= size:
            tenths = math.floor(10 * number / size) / 10
            return digits(tenths, 1 if tenths < 100 and tenths % 1 else 0) + letter
    return str(number)


def day_words(day: dt.date, year: bool = True) -> str:
    return dated(day, "d MMM y" if year else "d MMM")


def span_words(span: Span) -> str:
    """`3 to 9 Nov 2026`, as short as is clear."""
    start, end = span
    if start == end:
        return dated(end, DAY_OF_WEEK)
    if start.year != end.year:
        return between(day_words(start), day_words(end))
    return between(dated(start, "d" if start.month == end.month else "d MMM"), day_words(end))


def between(first: str, last: str) -> str:
    return say(f"{first} to {last}")


def part_words(day: dt.date, interval: str, asked: Span) -> str:
    """What a row of days, weeks or months is called. Of a part that the period cuts, the days are named."""
    if interval == "month":
        return dated(day, "MMMM y")
    if interval == "week":
        return span_words(Span(max(day, asked.start), min(day + 6 * Day, asked.end)))
    return dated(day, DAY_OF_WEEK)


def short_words(day: dt.date, interval: str) -> str:
    """The same on an axis."""
    return dated(day, "MMM y") if interval == "month" else day_words(day, year=False)


def points(counts: Sequence[int], width: int, height: int) -> str:
    """The points of a small line: x from 0 to `width`, y from `height` (nothing) to 0 (the most)."""
    most, last = max([*counts, 1]), max(len(counts) - 1, 1)
    return " ".join(
        f"{number * width / last:g},{height - height * count / most:.4g}"
        for number, count in enumerate(counts)
    )
