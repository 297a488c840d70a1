"""Words for dimensions and their values; formats of changes, shares, shades, bars and spans of days."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.dashboard.shared.words import words_for
from app.dashboard.statistics.periods import Day, Span
from app.geo.names import CONTINENT_NAMES, COUNTRY_NAMES
from app.i18n import dated, digits, percent
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links import targeting
from app.links.language_names import PRIMARY_LANGUAGES


class DimensionWords(NamedTuple):
    """What pages say of a dimension, each a whole message.

    `one`: the name of a value, for UTM that of the parameter. `all_of_them` and `as_csv`: on the ways to the
    whole list and to a file of it. `tab`: what a tab says where `many` is too long.
    """

    one: str
    many: str
    all_of_them: str
    as_csv: str
    tab: str = ""
    unknown: str = _l("Unknown")


WORDS: Mapping[str, DimensionWords] = {
    dimension: DimensionWords(**{"one": dimension.replace("utm_", "UTM "), **words})
    for dimension, words in words_for("dimensions").items()
}
NAMES: Mapping[str, Mapping[str, str]] = {
    "country_code": COUNTRY_NAMES,
    "continent_code": CONTINENT_NAMES,
    "device_type": targeting.DEVICES,
    "browser_language": PRIMARY_LANGUAGES,
}
DEVICE_ICONS = {"desktop": "monitor", "mobile": "smartphone", "tablet": "tablet"}


def word(dimension: str, value: str | None) -> str:
    if value is None:
        return WORDS[dimension].unknown
    return NAMES.get(dimension, {}).get(value, value)


SHADES = 6
THOUSAND = 1000
DAY_OF_WEEK = "EEE d MMM y"  # a pattern of Unicode's


class Trend(NamedTuple):
    """`+12%`; the tone is `up`, `down` or empty, and does not judge."""

    text: str
    tone: str


def change(now: float, before: float) -> Trend | None:
    """The change in percent. None where there was nothing before: that has no percentage."""
    if not before:
        return None
    rounded = round((now - before) / before * 100)
    tone = "up" if rounded > 0 else "down" if rounded else ""
    return Trend(percent(rounded, is_signed=True), tone)


def share(part: int, whole: int) -> str:
    """`12%`; `<1%` for a small share, which is never shown as 0."""
    found = 100 * part / whole if whole else 0
    return f"<{percent(1)}" if 0 < found < 1 else percent(found)


def length(part: int, most: int) -> float:
    """Length of a bar in percent of the longest."""
    return round(100 * part / most, 2) if most else 0.0


def shade(count: int, most: int) -> int:
    """Shade of a count: 0 for nothing, else 1 (light) to 6 (dark)."""
    return -(-SHADES * count // most) if most else 0


def shade_of_size(count: int, most: int) -> int:
    """Shade on a logarithmic scale: beside one very large count the others still differ."""
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
    return _("%(first)s to %(last)s", first=first, last=last)


def file_name(title: str, span: Span) -> str:
    """`waypost-go.example-spring-2026-11-01-2026-11-24`: the name of a file, without its ending."""
    plain = re.sub(r"[^\w.-]+", "-", title).strip("-.")[:80]
    return f"waypost-{plain or 'statistics'}-{span.start}-{span.end}"


def part_words(day: dt.date, interval: str, selected: Span) -> str:
    """Name of a day, week or month. Of a week that the period cuts, only the days within the period."""
    if interval == "month":
        return dated(day, "MMMM y")
    if interval == "week":
        return span_words(Span(max(day, selected.start), min(day + 6 * Day, selected.end)))
    return dated(day, DAY_OF_WEEK)


def short_words(day: dt.date, interval: str) -> str:
    """The short name for an axis."""
    return dated(day, "MMM y") if interval == "month" else day_words(day, year=False)


def points(counts: Sequence[int], width: int, height: int) -> str:
    """The points of a small line: x from 0 to `width`, y from `height` (nothing) to 0 (the most)."""
    most, last = max([*counts, 1]), max(len(counts) - 1, 1)
    return " ".join(
        f"{number * width / last:g},{height - height * count / most:.4g}"
        for number, count in enumerate(counts)
    )
