"""Breakdowns of a statistics page: the top values of a dimension, and the top links."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import joinedload

from app.analytics.statistics import make_report
from app.analytics.top_links import by_link
from app.core.extensions import db
from app.dashboard.links.rows import host_of, short_address
from app.dashboard.statistics import figures, words
from app.dashboard.statistics.scopes import LINK, PageScope
from app.dashboard.statistics.state import CARDS, PageState
from app.links.models import Link

ROWS = 8
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
    title = words.WORDS[dimension].many.removeprefix("UTM ").capitalize()
    addresses = scope.address(**there), scope.address(card, turned="1", **there)
    return Tab(dimension, title, *addresses, dimension == state.view(card))


def listed(scope: PageScope, state: PageState, dimension: str, limit: int = ALL_ROWS) -> dict[str, Any]:
    found = make_report(db.session, scope.asked(state, dimension, limit=limit))
    most = max([row["pageviews"] for row in found.rows], default=0)
    return {
        "dimension": dimension,
        "words": words.WORDS[dimension],
        "rows": [row_of(scope, state, dimension, row, most, found.pageviews) for row in found.rows],
        "total": found.pageviews,
    }


def row_of(
    scope: PageScope, state: PageState, dimension: str, row: dict[str, Any], most: int, total: int
) -> BreakdownRow:
    value, count = row[dimension], row["pageviews"]
    return BreakdownRow(
        words.word(dimension, value),
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
    found = by_link(db.session, scope.asked(state, "overview", limit=limit))
    wanted = select(Link).where(Link.id.in_([id_ for id_, _ in found])).options(joinedload(Link.domain))
    there = {link.id: link for link in db.session.scalars(wanted)}
    most = max([count.pageviews for _, count in found], default=0)
    rows = [
        BreakdownRow(
            short_address(link),
            count.pageviews,
            count.visitors,
            "",
            figures.length(count.pageviews, most),
            PageScope(scope.user, LINK, "", scope.since, id_).address(**state.query()),
            host_of(link)[0],
        )
        for id_, count in found
        if (link := there.get(id_))
    ]
    return {"rows": rows[: limit - 1] if limit > ROWS else rows, "has_more": len(rows) > ROWS}
