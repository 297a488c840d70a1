"""Lists of a statistics page: top values of a dimension, top links, hours of the week, and latest clicks."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

from app.analytics.click_reader import LatestVisit
from app.analytics.readers import reader_of
from app.analytics.statistics import hours_of_week, make_report
from app.core.extensions import db
from app.dashboard.links.rows import host_of, short_address
from app.dashboard.statistics import figures
from app.dashboard.statistics.scopes import LINK, PageScope, links_of
from app.dashboard.statistics.state import CARDS, PageState
from app.i18n import dated
from app.i18n.messages import gettext as _
from app.links.models import Link
from app.web.body import read_params

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
