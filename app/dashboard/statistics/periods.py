"""Periods of statistics: their days, the days to compare with, and the intervals of the chart.

Everything here is computed from the arguments alone. `today` is the date in the owner's time zone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.i18n.messages import lazy_gettext as _l

Day = dt.timedelta(days=1)
FIRST = dt.date(2000, 1, 1)  # before any visit; a wider range would only be a longer line of zeros
MONTHS = 12


class Span(NamedTuple):
    """Days, both ends inclusive."""

    start: dt.date
    end: dt.date

    @property
    def days(self) -> int:
        return (self.end - self.start).days + 1


class PeriodChoice(NamedTuple):
    """One line of the period menu: its words, the key that chooses it, and its value in an address.

    The keys are Plausible's, so that users who know them need not learn others.
    """

    title: str
    key: str
    period: str
    back: int = 0  # how many days or months before today


MENU: Sequence[Sequence[PeriodChoice]] = (
    (
        PeriodChoice(_l("Today"), "D", "day"),
        PeriodChoice(_l("Yesterday"), "E", "day", 1),
        PeriodChoice(_l("Realtime"), "R", "realtime"),
    ),
    (
        PeriodChoice(_l("Last 7 days"), "W", "7d"),
        PeriodChoice(_l("Last 28 days"), "F", "28d"),
        PeriodChoice(_l("Last 30 days"), "T", "30d"),
        PeriodChoice(_l("Last 91 days"), "N", "91d"),
    ),
    (PeriodChoice(_l("Month to date"), "M", "month"), PeriodChoice(_l("Last month"), "P", "month", 1)),
    (
        PeriodChoice(_l("Year to date"), "Y", "year"),
        PeriodChoice(_l("Last 6 months"), "S", "6mo"),
        PeriodChoice(_l("Last 12 months"), "L", "12mo"),
        PeriodChoice(_l("All time"), "A", "all"),
    ),
)
TITLES = {choice.period: choice.title for group in MENU for choice in group if not choice.back}
PERIODS = (*dict.fromkeys(choice.period for group in MENU for choice in group), "custom")
DEFAULT = "30d"
DATED = ("day", "month", "year")  # have buttons for the one before and the next
WITHOUT_BEFORE = ("realtime", "all")  # have no earlier period to compare with


def span(period: str, date: dt.date, today: dt.date, first: dt.date) -> Span:
    """The days of a period, none after today. `date` is in the wanted day, month or year."""
    if period in {"month", "year"}:
        start = month_of(date) if period == "month" else date.replace(month=1, day=1)
        last = start.replace(month=12) if period == "year" else start
        return Span(start, min(plus_months(last, 1) - Day, max(today, start)))
    if period in {"6mo", "12mo"}:
        return Span(plus_months(month_of(today), 1 - int(period.removesuffix("mo"))), today)
    if period.endswith("d"):
        return Span(today - (int(period.removesuffix("d")) - 1) * Day, today)
    if period == "all":
        return Span(min(first, today), today)
    return Span(date, date) if period == "day" else Span(today, today)


def date_of(choice: PeriodChoice, today: dt.date) -> dt.date | None:
    """The date that a line of the menu writes into an address; None where the period says it all."""
    if not choice.back:
        return None
    return today - choice.back * Day if choice.period == "day" else plus_months(month_of(today), -choice.back)


def stepped(period: str, date: dt.date, steps: int) -> dt.date:
    """A date in the day, month or year before (-1) or after (1)."""
    if period == "day":
        return date + steps * Day
    return plus_months(month_of(date), steps) if period == "month" else date.replace(date.year + steps, 1, 1)


def before(period: str, selected: Span) -> Span:
    """The days that `selected` is compared with: as many, right before.

    Calendar months and years (also the current ones) are compared with the same days of those before, which
    is what their names promise.
    """
    if period.endswith("mo"):
        back = int(period.removesuffix("mo"))
        return Span(plus_months(selected.start, -back), plus_months(selected.end, -back))
    if period in {"month", "year"}:
        back = 1 if period == "month" else MONTHS
        start = plus_months(selected.start, -back)
        is_whole = plus_months(selected.start, back) - Day == selected.end
        end = selected.start - Day
        return Span(start, end if is_whole else min(start + (selected.end - selected.start), end))
    return Span(selected.start - selected.days * Day, selected.start - Day)


def year_before(selected: Span) -> Span:
    """The same days a year earlier (28 February for the 29th)."""
    return Span(plus_months(selected.start, -MONTHS), plus_months(selected.end, -MONTHS))


def intervals(selected: Span) -> Sequence[str]:
    """The intervals in which these days can be shown, the best first."""
    if selected.days == 1:
        return ("hour",)
    if selected.days <= 7:
        return ("day",)
    if selected.days <= 91:
        return ("day", "week", *(["month"] if selected.days > 31 else []))
    return ("week", "day", "month") if selected.days <= 200 else ("month", "week", "day")


def part_of(day: dt.date, interval: str) -> dt.date:
    """The first day of the week (a Monday) or month in which a day lies; the day itself for days."""
    if interval == "week":
        return day - day.weekday() * Day
    return month_of(day) if interval == "month" else day


def folded(counts: Mapping[dt.date, tuple[int, int]], interval: str) -> dict[dt.date, tuple[int, int]]:
    """Sum up counts of days by week or month. Visitors too: visitors of several days are the sum of the days,
    for visitor hashes are new each day.
    """
    sums: dict[dt.date, tuple[int, int]] = {}
    for day, (pageviews, visitors) in counts.items():
        part = part_of(day, interval)
        so_far = sums.get(part, (0, 0))
        sums[part] = (so_far[0] + pageviews, so_far[1] + visitors)
    return sums


def month_of(date: dt.date) -> dt.date:
    return date.replace(day=1)


def plus_months(date: dt.date, months: int) -> dt.date:
    """The same day `months` later, or that month's last day; limited to the dates that Python knows."""
    year, month = divmod(date.year * MONTHS + date.month - 1 + months, MONTHS)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        return dt.date.min if year < dt.MINYEAR else dt.date.max
    for day in range(date.day, 27, -1):
        try:
            return dt.date(year, month + 1, day)
        except ValueError:
            continue
    return dt.date(year, month + 1, date.day)
