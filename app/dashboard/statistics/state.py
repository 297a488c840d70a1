"""State of a statistics page: read from its address, and written into addresses.

All of a page's state is in its address and nowhere else: it can be bookmarked, shared and gone back to.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.analytics.params import read_date as day
from app.analytics.params import read_filters
from app.core.errors import FieldError
from app.dashboard.statistics import periods
from app.dashboard.statistics.periods import DATED, DEFAULT, FIRST, PERIODS, WITHOUT_BEFORE, Span
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import one_of
from app.input.params import ParamReader, QueryParams
from app.input.parsers import parse_boolean

PREVIOUS, YEAR, OFF = "previous", "year", "off"
COMPARE = {PREVIOUS: _l("Previous period"), YEAR: _l("Previous year"), OFF: _l("No comparison")}
METRICS = {"pageviews": _l("Clicks"), "visitors": _l("Visitors")}
INTERVALS = ("hour", "day", "week", "month")
# the breakdowns of each card, the default first
CARDS: Mapping[str, Sequence[str]] = {
    "sources": ("referrer_host", "referrer_path"),
    "campaigns": ("utm_source", "utm_medium", "utm_campaign"),
    "places": ("country_code", "city_name", "continent_code"),
    "devices": ("browser_name", "os_name", "device_type", "browser_language"),
    "destinations": ("destination",),
}
# parameters that change the view of one part of the page alone, the default first
VIEWS: Mapping[str, Sequence[str]] = {"metric": [*METRICS], "interval": INTERVALS, **CARDS}


@dataclass(frozen=True, kw_only=True)
class PageState:
    """What a page shows. `date` is in the chosen day, month or year.

    `custom`: the days of a custom period. `views`: only what differs from the default.
    """

    today: dt.date
    first: dt.date
    period: str = DEFAULT
    date: dt.date | None = None
    custom: Span | None = None
    compare: str = PREVIOUS
    bots: bool = False
    filters: Mapping[str, str | None] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)

    @property
    def span(self) -> Span:
        if self.custom:
            return self.custom
        return periods.span(self.period, self.date or self.today, self.today, self.first)

    @property
    def before(self) -> Span | None:
        """The days to compare with, if any."""
        if self.compare == OFF or self.period in WITHOUT_BEFORE:
            return None
        return (
            periods.year_before(self.span) if self.compare == YEAR else periods.before(self.period, self.span)
        )

    @property
    def interval(self) -> str:
        known = periods.intervals(self.span)
        interval = self.views.get("interval", "")
        return interval if interval in known else known[0]

    @property
    def metric(self) -> str:
        return self.view("metric")

    @property
    def is_live(self) -> bool:
        """Whether the period includes today, so that new clicks belong to it."""
        return self.span.end >= self.today

    def view(self, name: str) -> str:
        return self.views.get(name, VIEWS[name][0])

    def in_period(self, period: str, date: dt.date | None = None, custom: Span | None = None) -> PageState:
        return replace(self, period=period, date=date, custom=custom)

    def stepped(self, steps: int) -> PageState | None:
        """The day, month or year before or after; None where there is none, or it is in the future."""
        if self.period not in DATED:
            return None
        there = periods.stepped(self.period, self.date or self.today, steps)
        if not FIRST <= there <= self.today:
            return None
        is_now = periods.span(self.period, there, self.today, self.first).end == self.today
        return self.in_period(self.period, None if is_now else there)

    def with_filter(self, name: str, value: str | None) -> PageState:
        return replace(self, filters={**self.filters, name: value})

    def without_filter(self, name: str) -> PageState:
        return replace(self, filters={key: value for key, value in self.filters.items() if key != name})

    def with_view(self, name: str, value: str) -> PageState:
        kept = {key: shown for key, shown in self.views.items() if key != name}
        return replace(self, views=kept if value == VIEWS[name][0] else {**kept, name: value})

    def with_interval(self, interval: str) -> PageState:
        return self.with_view("interval", "hour" if interval == periods.intervals(self.span)[0] else interval)

    def query(self) -> dict[str, str]:
        """The parameters of the address, without defaults. An empty filter means the unknown value."""
        found: dict[str, Any] = {
            "period": "" if self.period == DEFAULT else self.period,
            "date": self.date or "",
            "start_date": self.custom.start if self.custom else "",
            "end_date": self.custom.end if self.custom else "",
            "compare": "" if self.compare == PREVIOUS else self.compare,
            "bots": "1" if self.bots else "",
            **{name: self.views.get(name, "") for name in VIEWS},
        }
        said = {name: str(value) for name, value in found.items() if value}
        return {**said, **{name: value or "" for name, value in self.filters.items()}}


def read(params: QueryParams, today: dt.date, first: dt.date) -> tuple[PageState, Sequence[FieldError]]:
    """The state that an address asks for, and its errors. Unknown parameters are ignored."""
    reader = ParamReader(params, ignores_empty=True)
    period = reader.read("period", DEFAULT, one_of(PERIODS))
    date = min(reader.read("date", today, day), today)
    state = PageState(
        today=today,
        first=first,
        period=period,
        date=date if period in DATED and date != today else None,
        custom=read_custom_period(reader, today) if period == "custom" else None,
        compare=reader.read("compare", PREVIOUS, one_of([*COMPARE])),
        bots=reader.read("bots", False, parse_boolean),
        filters=read_filters(reader),
        views={name: shown for name in VIEWS if (shown := read_view(reader, name))},
    )
    return state, reader.problems


def read_view(reader: ParamReader, name: str) -> str | None:
    """The view that a parameter chooses; None for the default."""
    found = reader.read(name, None, one_of(VIEWS[name]))
    return None if found == VIEWS[name][0] else found


def read_custom_period(reader: ParamReader, today: dt.date) -> Span:
    """The days of a custom period, without those in the future."""
    for name in ("start_date", "end_date"):
        if not reader.params.get(name):
            reader.problems.append(FieldError(_l("This is needed for a custom period."), "required", name))
    start = min(reader.read("start_date", today, day), today)
    end = min(reader.read("end_date", today, day), today)
    if start > end and not reader.problems:
        reader.problems.append(FieldError(_l("This must not be before the start."), "order", "end_date"))
    return Span(min(start, end), end)
