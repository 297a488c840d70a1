"""What does the address of a statistics page ask for, and how is that written into another address?

All of a page's state stands in its address, and nowhere else: so it can be kept, sent on and gone back to.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.clicks.asking import date as day
from app.clicks.asking import read_filters
from app.dashboard.statistics import periods
from app.dashboard.statistics.periods import DATED, DEFAULT, FIRST, PERIODS, WITHOUT_BEFORE, Span
from app.errors import FieldError
from app.lists import one_of
from app.params import ParamReader
from app.reading import flag

PREVIOUS, YEAR, OFF = "previous", "year", "off"
COMPARE = {PREVIOUS: "Period before", YEAR: "Year before", OFF: "No comparison"}
METRICS = {"pageviews": "Clicks", "visitors": "Visitors"}
INTERVALS = ("hour", "day", "week", "month")
# which list a card shows first, and which others it can
CARDS: Mapping[str, Sequence[str]] = {
    "sources": ("referrer_host", "referrer_path"),
    "campaigns": ("utm_source", "utm_medium", "utm_campaign"),
    "places": ("country_code", "city_name", "continent_code"),
    "devices": ("browser_name", "os_name", "device_type", "browser_language"),
    "destinations": ("destination",),
}
# what one part of the page shows in which way: it changes that part alone
VIEWS: Mapping[str, Sequence[str]] = {"metric": [*METRICS], "interval": INTERVALS, **CARDS}

Asked = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class State:
    """`date` lies in the day, month or year asked for; `custom` are the days of one's own choice. `views`
    hold only what is not as it is at first."""

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
        """The days that are compared with, if any."""
        if self.compare == OFF or self.period in WITHOUT_BEFORE:
            return None
        return (
            periods.year_before(self.span) if self.compare == YEAR else periods.before(self.period, self.span)
        )

    @property
    def interval(self) -> str:
        known = periods.intervals(self.span)
        asked = self.views.get("interval", "")
        return asked if asked in known else known[0]

    @property
    def metric(self) -> str:
        return self.view("metric")

    @property
    def is_live(self) -> bool:
        """Does it last until now, so that new visits belong to it?"""
        return self.span.end >= self.today

    def view(self, name: str) -> str:
        return self.views.get(name, VIEWS[name][0])

    def in_period(self, period: str, date: dt.date | None = None, custom: Span | None = None) -> State:
        return replace(self, period=period, date=date, custom=custom)

    def stepped(self, steps: int) -> State | None:
        """The day, month or year before or after; None where there is no such, or it is yet to come."""
        if self.period not in DATED:
            return None
        there = periods.stepped(self.period, self.date or self.today, steps)
        if not FIRST <= there <= self.today:
            return None
        is_now = periods.span(self.period, there, self.today, self.first).end == self.today
        return self.in_period(self.period, None if is_now else there)

    def with_filter(self, name: str, value: str | None) -> State:
        return replace(self, filters={**self.filters, name: value})

    def without_filter(self, name: str) -> State:
        return replace(self, filters={key: value for key, value in self.filters.items() if key != name})

    def with_view(self, name: str, value: str) -> State:
        kept = {key: shown for key, shown in self.views.items() if key != name}
        return replace(self, views=kept if value == VIEWS[name][0] else {**kept, name: value})

    def with_interval(self, interval: str) -> State:
        return self.with_view("interval", "hour" if interval == periods.intervals(self.span)[0] else interval)

    def query(self) -> dict[str, str]:
        """What stands in the address; nothing that is as it is anyway. An empty filter means unknown."""
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


def read(asked: Asked, today: dt.date, first: dt.date) -> tuple[State, Sequence[FieldError]]:
    """The state that an address asks for, and what of it can't be asked. What nobody knows is ignored."""
    reader = Reader(asked, ignores_empty=True)
    period = reader.read("period", DEFAULT, one_of(PERIODS))
    date = min(reader.read("date", today, day), today)
    state = State(
        today=today,
        first=first,
        period=period,
        date=date if period in DATED and date != today else None,
        custom=reader.custom(today) if period == "custom" else None,
        compare=reader.read("compare", PREVIOUS, one_of([*COMPARE])),
        bots=reader.read("bots", False, flag),
        filters=read_filters(reader),
        views={name: shown for name in VIEWS if (shown := reader.view(name))},
    )
    return state, reader.problems


class Reader(ParamReader):
    """Reads an address and keeps what is wrong with it."""

    def view(self, name: str) -> str | None:
        found: str | None = self.read(name, None, one_of(VIEWS[name]))
        return None if found == VIEWS[name][0] else found

    def custom(self, today: dt.date) -> Span:
        """Days of one's own choice; what is still to come of them is left out."""
        for name in ("start_date", "end_date"):
            if not self.params.get(name):
                self.problems.append(FieldError("This is needed for a period of your own.", "required", name))
        start = min(self.read("start_date", today, day), today)
        end = min(self.read("end_date", today, day), today)
        if start > end and not self.problems:
            self.problems.append(FieldError("This must not be before the start.", "order", "end_date"))
        return Span(min(start, end), end)
