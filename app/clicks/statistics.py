"""What happened to somebody's links?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from app.clicks import raw
from app.clicks.dimensions import DIMENSIONS, HOUR, OVERVIEW, TYPES
from app.clicks.periods import ONE_DAY, Period, moment
from app.clicks.raw import Count, Scope
from app.database import AnySession

__all__ = ["DIMENSIONS", "TYPES", "Answer", "Asked", "answer", "before", "hours_of_week", "last_days"]

HOURS = 24
DAYS_OF_WEEK = 7
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question. `link_ids` None means all of the user's links; of several links, each one's visitors are
    counted and added up. A filter's value None means unknown. Both days are included."""

    user_id: int
    start: dt.date
    end: dt.date
    zone: ZoneInfo
    link_ids: tuple[int, ...] | None = None
    type: str = OVERVIEW
    bots: bool = False
    filters: Mapping[str, str | None] = field(default_factory=dict)
    limit: int = 100

    @property
    def period(self) -> Period:
        return Period(self.start, self.end, self.zone)

    @property
    def scope(self) -> Scope:
        return Scope(self.user_id, self.link_ids, self.bots, self.filters)


@dataclass(frozen=True)
class Answer:
    """`rows` as the API gives them; totals of the whole period, whatever the rows leave out. `covers` is
    None where that is the period asked for, else its days that single visits are still known of."""

    rows: list[Row]
    pageviews: int
    visitors: int
    covers: tuple[dt.date, dt.date] | None = None


def answer(session: AnySession, asked: Asked) -> Answer:
    period = asked.period
    quarters = raw.by_quarter(session, asked.scope, period.first, period.last)
    total = added(quarters.values())
    if asked.type in TIMES:
        return Answer(TIMES[asked.type](period, quarters), *total)
    found = raw.by_value(session, asked.scope, asked.type, period.first, period.last)
    return Answer(ranked(asked.type, found)[: asked.limit], *total)


def before(asked: Asked) -> Asked:
    """The same question about as many days, right before."""
    length = asked.end - asked.start + ONE_DAY
    return replace(asked, start=asked.start - length, end=asked.end - length)


def hours_of_week(session: AnySession, asked: Asked) -> list[list[Count]]:
    """Visits in each hour of each day of the week, Monday first."""
    period = asked.period
    found = [[Count(0, 0)] * HOURS for _ in range(DAYS_OF_WEEK)]
    for quarter, count in raw.by_quarter(session, asked.scope, period.first, period.last).items():
        when = moment(quarter, asked.zone)
        found[when.weekday()][when.hour] = added([found[when.weekday()][when.hour], count])
    return found


def last_days(
    session: AnySession, links: Sequence[int], days: int, zone: ZoneInfo, today: dt.date | None = None
) -> dict[int, list[int]]:
    """People's visits of each link on each of the last days, today last."""
    last = today or dt.datetime.now(zone).date()
    period = Period(last - (days - 1) * ONE_DAY, last, zone)
    found = {link_id: [0] * days for link_id in links}
    for link_id, quarter, count in raw.of_links(session, links, period.first, period.last):
        found[link_id][period.number(quarter)] += count
    return found


def by_day(period: Period, quarters: Mapping[int, Count]) -> list[Row]:
    counts = [Count(0, 0)] * len(days := period.days)
    for quarter, count in quarters.items():
        number = period.number(quarter)
        counts[number] = added([counts[number], count])
    return [
        {"formatted_date": day.isoformat(), **count._asdict()}
        for day, count in zip(days, counts, strict=True)
    ]


def by_hour(period: Period, quarters: Mapping[int, Count]) -> list[Row]:
    counts = [Count(0, 0)] * HOURS
    for quarter, count in quarters.items():
        hour = period.hour(quarter)
        counts[hour] = added([counts[hour], count])
    return [{"hour": hour, **count._asdict()} for hour, count in enumerate(counts)]


TIMES: dict[str, Callable[[Period, Mapping[int, Count]], list[Row]]] = {OVERVIEW: by_day, HOUR: by_hour}


def ranked(name: str, found: Mapping[str | None, Count]) -> list[Row]:
    """Most first; of equals the ones with more visitors, then by their names, the unknown last."""
    order = sorted(
        found.items(),
        key=lambda item: (-item[1].pageviews, -item[1].visitors, item[0] is None, item[0] or ""),
    )
    return [{name: value, **count._asdict()} for value, count in order]


def added(counts: Any) -> Count:
    """The sum."""
    pageviews = visitors = 0
    for count in counts:
        pageviews, visitors = pageviews + count.pageviews, visitors + count.visitors
    return Count(pageviews, visitors)
