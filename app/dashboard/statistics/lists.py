"""Parts of a statistics page: totals and chart beside an earlier period; lists, hours of the week, clicks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from app.analytics.click_reader import LatestVisit
from app.analytics.readers import reader_of
from app.analytics.statistics import StatisticsResult, hours_of_week, make_report, query_statistics
from app.core import clock
from app.core.extensions import db
from app.dashboard.links.rows import host_of, short_address
from app.dashboard.statistics import figures
from app.dashboard.statistics.figures import Trend
from app.dashboard.statistics.periods import Day, Span, folded, intervals
from app.dashboard.statistics.scopes import LINK, PageScope, links_of
from app.dashboard.statistics.state import CARDS, METRICS, PageState
from app.i18n import dated, digits
from app.i18n.messages import gettext as _
from app.links.models import Link
from app.web.body import read_params

MINUTES = 30
Counts = tuple[int, int]  # clicks and visitors


class Interval(NamedTuple):
    """An hour, day, week or month: its words, those for an axis, and its counts (None in the future)."""

    words: str
    short: str
    counts: Counts | None


class ChartPoint(NamedTuple):
    """A row of the table and a point of the chart, with the interval that it is compared with."""

    now: Interval
    before: Interval | None


@dataclass(frozen=True)
class Figure:
    """A figure above the chart. `metric` is drawn when the figure is chosen."""

    title: str
    value: str
    metric: str = ""
    change: Trend | None = None
    before: str = ""


def overview(scope: PageScope, state: PageState) -> dict[str, Any]:
    if state.period == "realtime":
        return realtime(scope, state)
    found, now = query_overview(scope, state, state.span)
    earlier, before = query_overview(scope, state, state.before) if state.before else (None, [])
    lines = [ChartPoint(each, other) for each, other in zip_longest(now, before) if each]
    return {
        "lines": lines,
        "totals": totals(found, compared(scope, state, now, before) if is_comparable(earlier) else None),
        "is_cut": is_cut(state),
        "covers": covers(found),
        "before_covers": covers(earlier),
        "is_empty": not found.pageviews,
        "intervals": intervals(state.span),
    }


def query_overview(scope: PageScope, state: PageState, span: Span) -> tuple[StatisticsResult, list[Interval]]:
    is_hourly = state.interval == "hour"
    asked = scope.statistics_query(state, "hour" if is_hourly else "overview", span)
    found = query_statistics(db.session, asked)
    return found, hours(scope, found, state, span) if is_hourly else days(found, state, span)


def hours(scope: PageScope, found: StatisticsResult, state: PageState, span: Span) -> list[Interval]:
    last = hour_now(scope) if span.end == state.today else 23
    names = [(f"{row['hour']:02}:00", row) for row in found.rows]
    return [Interval(name, name, counts_of(row) if row["hour"] <= last else None) for name, row in names]


def days(found: StatisticsResult, state: PageState, span: Span) -> list[Interval]:
    counts = {dt.date.fromisoformat(row["formatted_date"]): counts_of(row) for row in found.rows}
    return [
        Interval(
            figures.part_words(day, state.interval, span), figures.short_words(day, state.interval), some
        )
        for day, some in folded(counts, state.interval).items()
    ]


def counts_of(row: dict[str, Any]) -> Counts:
    return int(row["pageviews"]), int(row["visitors"])


def covers(found: StatisticsResult | None) -> str:
    """The days that a filtered result covers, if not all that were asked for; else "".

    Filters need single clicks, and these are deleted after a time.
    """
    if found is None or found.covers is None:
        return ""
    start, end = found.covers
    return figures.span_words(Span(start, end)) if start <= end else "no day"


def is_comparable(earlier: StatisticsResult | None) -> bool:
    """Whether the earlier period is known as a whole. A part of it would look like fewer clicks."""
    return earlier is not None and earlier.covers is None


def hour_now(scope: PageScope) -> int:
    return clock.now().astimezone(scope.zone).hour


def is_cut(state: PageState) -> bool:
    """Whether the period is today by hours: only the full hours so far can be compared with another day's."""
    return state.interval == "hour" and state.is_live


def compared(
    scope: PageScope, state: PageState, now: Sequence[Interval], before: Sequence[Interval]
) -> tuple[Counts, Counts]:
    """The counts now and before, from which the change is computed. Of a day that is not over only its full
    hours count, and the same hours of the other day.
    """
    last = hour_now(scope) if is_cut(state) else None
    return added(now[:last]), added(before[:last])


def added(some: Sequence[Interval]) -> Counts:
    counts = [part.counts for part in some if part.counts]
    return sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)


def totals(found: StatisticsResult, compared: tuple[Counts, Counts] | None) -> list[Figure]:
    """Clicks, visitors and clicks per visitor, with their earlier values if there is a comparison."""
    values = [digits(found.pageviews), digits(found.visitors), ratio(found.pageviews, found.visitors)]
    names = [(title, metric) for metric, title in METRICS.items()] + [(_("Clicks per visitor"), "")]
    if compared is None:
        return [Figure(title, value, metric) for (title, metric), value in zip(names, values, strict=True)]
    now, before = ((*counts, counts[0] / counts[1] if counts[1] else 0) for counts in compared)
    was = [digits(before[0]), digits(before[1]), digits(before[2], 2) if before[1] else ""]
    return [
        Figure(title, values[n], metric, figures.change(now[n], before[n]), was[n])
        for n, (title, metric) in enumerate(names)
    ]


def ratio(clicks: int, visitors: int) -> str:
    return digits(clicks / visitors, 2) if visitors else "–"


def realtime(scope: PageScope, state: PageState) -> dict[str, Any]:
    """The last half hour, by minutes."""
    now, zone = clock.now(), scope.zone
    around = Span(state.today - Day, state.today)  # half an hour may begin on the day before
    asked = scope.statistics_query(state, "hour", around)
    counts = reader_of(db.session).by_minute(asked, now, MINUTES)
    times = [(now - dt.timedelta(minutes=MINUTES - 1 - n)).astimezone(zone) for n in range(MINUTES)]
    parts = [
        Interval(f"{time:%H:%M}", f"{time:%H:%M}", (count.pageviews, count.visitors))
        for time, count in zip(times, counts, strict=True)
    ]
    sums = zip(METRICS, added(parts), strict=True)
    return {
        "lines": [ChartPoint(part, None) for part in parts],
        "totals": [Figure(METRICS[metric], digits(count), metric) for metric, count in sums],
        "is_empty": not any(count.pageviews for count in counts),
    }


ROWS = 8
REALTIME_ROWS = 50  # of the latest clicks
ALL_ROWS = 100
COUNTRIES = 300  # more than there are, so that the map has all


class BreakdownRow(NamedTuple):
    """A line of a breakdown. `address`: the same page, filtered by this value (or the link's statistics)."""

    word: str
    pageviews: int
    visitors: int
    share: str
    length: float
    address: str
    sign: str = ""  # a code, or a letter
    value: str | None = None
    is_unknown: bool = False


class Tab(NamedTuple):
    """One of the breakdowns that a card can show."""

    dimension: str
    title: str
    address: str  # of the page with this tab shown
    part: str  # of the card alone
    is_shown: bool


def card(scope: PageScope, state: PageState, name: str) -> dict[str, Any]:
    """Context of a card: its tabs, and the first rows of the breakdown that it shows."""
    dimension = state.view(name)
    found = listed(scope, state, dimension, ROWS + 1)
    return {
        "name": name,
        "tabs": [tab(scope, state, name, each) for each in CARDS[name]],
        **found,
        "rows": found["rows"][:ROWS],
        "has_more": len(found["rows"]) > ROWS,
    }


def tab(scope: PageScope, state: PageState, card: str, dimension: str) -> Tab:
    there = state.with_view(card, dimension).query()
    title = figures.WORDS[dimension].tab or figures.WORDS[dimension].many
    addresses = scope.address(**there), scope.address(card, turned="1", **there)
    return Tab(dimension, title, *addresses, dimension == state.view(card))


def listed(scope: PageScope, state: PageState, dimension: str, limit: int = ALL_ROWS) -> dict[str, Any]:
    asked = scope.statistics_query(state, dimension, limit=limit)
    found = make_report(db.session, asked)
    most = max([row["pageviews"] for row in found.rows], default=0)
    return {
        "dimension": dimension,
        "words": figures.WORDS[dimension],
        "rows": [row_of(scope, state, dimension, row, most, found.pageviews) for row in found.rows],
        "total": found.pageviews,
    }


def row_of(
    scope: PageScope, state: PageState, dimension: str, row: dict[str, Any], most: int, total: int
) -> BreakdownRow:
    value, count = row[dimension], row["pageviews"]
    return BreakdownRow(
        figures.word(dimension, value),
        count,
        row["visitors"],
        figures.share(count, total),
        figures.length(count, most),
        scope.address(**state.with_filter(dimension, value).query()),
        value or "" if dimension == "country_code" else "",
        value,
        value is None,
    )


def world(scope: PageScope, state: PageState) -> dict[str, Any]:
    """Every country with its shade on the map."""
    found = listed(scope, state, "country_code", COUNTRIES)
    most = max([row.pageviews for row in found["rows"] if row.value], default=0)
    shades = {row.value: figures.shade_of_size(row.pageviews, most) for row in found["rows"]}
    return {**found, "shades": shades, "is_empty": not most, "scale": range(figures.SHADES + 1)}


def links(scope: PageScope, state: PageState, limit: int = ROWS + 1) -> dict[str, Any]:
    """The links with the most clicks; a row's address is the statistics of that link."""
    asked = scope.statistics_query(state, "overview", limit=limit)
    found = reader_of(db.session).top_links(asked)
    there = links_of({id_ for id_, _ in found})
    most = max([count.pageviews for _, count in found], default=0)
    rows = [
        BreakdownRow(
            short_address(link),
            count.pageviews,
            count.visitors,
            "",
            figures.length(count.pageviews, most),
            PageScope(scope.access, LINK, "", scope.since, id_).address(**state.query()),
            host_of(link)[0],
        )
        for id_, count in found
        if (link := there.get(id_))
    ]
    return {"rows": rows[: limit - 1] if limit > ROWS else rows, "has_more": len(rows) > ROWS}


class Cell(NamedTuple):
    """An hour of a day of the week."""

    hour: int
    pageviews: int
    visitors: int
    shade: int


def day_name(number: int) -> str:
    """Name of a weekday; 0 is Monday."""
    return dated(dt.date(2024, 1, 1 + number), "EEEE")


def week(scope: PageScope, state: PageState) -> dict[str, Any]:
    """Clicks by hour of the week, for the heat map."""
    asked = scope.statistics_query(state, "overview")
    found = hours_of_week(db.session, asked)
    most = max(count.pageviews for counts in found for count in counts)
    days = [
        (
            name,
            [Cell(hour, *count, figures.shade(count.pageviews, most)) for hour, count in enumerate(counts)],
        )
        for name, counts in zip(map(day_name, range(7)), found, strict=True)
    ]
    return {"days": days, "is_empty": not most, "scale": range(figures.SHADES + 1), "most": most}


class VisitRow(NamedTuple):
    """A click in words."""

    visit: LatestVisit
    place: str
    machine: str
    icon: str
    source: str
    link: str  # short link; both empty where the page is about one link
    address: str


def latest(scope: PageScope, state: PageState) -> dict[str, Any]:
    """The latest clicks. `is_old_news`: the page that polls shows them already."""
    limit = REALTIME_ROWS if state.period == "realtime" else ROWS
    asked = scope.statistics_query(state, "overview")
    found = reader_of(db.session).latest_visits(asked, limit)
    newest = str(found[0].id) if found else ""
    there = {} if scope.link else links_of({visit.link_id for visit in found})
    return {
        "visits": [visit_row(scope, state, visit, there) for visit in found],
        "newest": newest,
        "is_old_news": read_params().get("seen") == newest,
    }


def visit_row(scope: PageScope, state: PageState, visit: LatestVisit, links: dict[int, Link]) -> VisitRow:
    country = figures.word("country_code", visit.country_code or None)
    machine = [word for word in (visit.device.browser_name, visit.device.os_name) if word]
    link = links.get(visit.link_id)
    return VisitRow(
        visit,
        f"{visit.city_name}, {country}" if visit.city_name else country,
        visit.bot_name or ", ".join(machine) or figures.word("browser_name", None),
        "bot" if visit.bot_name else figures.DEVICE_ICONS.get(visit.device.device_type, "monitor"),
        f"{visit.referrer_host}{visit.referrer_path}"
        if visit.referrer_host
        else visit.utm_source or _("Direct or unknown"),
        short_address(link) if link else "",
        PageScope(scope.access, LINK, "", scope.since, visit.link_id).address(**state.query())
        if link
        else "",
    )
