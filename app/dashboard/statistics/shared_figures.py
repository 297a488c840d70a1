"""Figures of shared statistics: totals, the chart and breakdowns, with small counts merged."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

from app.accounts.access import Access
from app.accounts.rights import VIEWER
from app.analytics.sharing.forms import CUSTOM, PARTS
from app.analytics.sharing.models import StatisticsShare
from app.analytics.statistics import make_report
from app.core import clock
from app.core.extensions import db
from app.dashboard.statistics import figures, words
from app.dashboard.statistics.overview import overview
from app.dashboard.statistics.periods import Span
from app.dashboard.statistics.scopes import PageScope, all_links_scope, of_link, of_project
from app.dashboard.statistics.state import METRICS, OFF, PageState

ROWS = 20
LOOKED_AT = 500  # values of which rows are chosen


class SharedRow(NamedTuple):
    """A line of a breakdown."""

    word: str
    pageviews: int
    visitors: int
    share: str
    length: float


class SharedList(NamedTuple):
    """A breakdown. `others`: the clicks on all values that have no row, small ones and those beyond."""

    dimension: str
    title: str
    head: str
    rows: list[SharedRow]
    others: int
    share_of_others: str


def shared_context(share: StatisticsShare, metric: str) -> dict[str, Any]:
    """Context of the page, and of its embedded form."""
    scope = scope_of(share)
    state = state_of_page(share, scope, metric)
    return {
        "state": state,
        "zone": scope.zone,
        "metrics": METRICS,
        "span_words": figures.span_words,
        "lists": [shared_list(share, scope, state, name) for name in PARTS if name in share.parts],
        "now": clock.now(),
        "picture_file": figures.file_name(share.name, state.span),
        **overview(scope, state),
    }


def scope_of(share: StatisticsShare) -> PageScope:
    """What is shown, without the link or project itself: nothing of these may be on the page."""
    access = Access(share.user, share.workspace_id, VIEWER)
    if share.link_id is not None:
        base = of_link(access, share.link_id)
    elif share.project_id is not None:
        base = of_project(access, share.project_id)
    else:
        base = all_links_scope(access)
    return PageScope(access, "", share.name, base.since, base.id, base.link_ids)


def state_of_page(share: StatisticsShare, scope: PageScope, metric: str) -> PageState:
    today = clock.now().astimezone(scope.zone).date()
    custom = None
    if share.period == CUSTOM and share.start_date and share.end_date:
        start, end = dt.date.fromisoformat(share.start_date), dt.date.fromisoformat(share.end_date)
        custom = Span(min(start, today), min(end, today))
    return PageState(
        today=today,
        first=scope.first(scope.zone),
        period=share.period,
        custom=custom,
        compare=OFF,
        views={"metric": metric} if metric in METRICS else {},
    )


def shared_list(share: StatisticsShare, scope: PageScope, state: PageState, name: str) -> SharedList:
    """Rows of values with at least `share.least` visitors; all other clicks are one sum."""
    asked = scope.statistics_query(state, name, limit=LOOKED_AT)
    found = make_report(db.session, asked)
    kept = [row for row in found.rows if row["visitors"] >= share.least][:ROWS]
    most = max([row["pageviews"] for row in kept], default=0)
    others = found.pageviews - sum(row["pageviews"] for row in kept)
    rows = [
        SharedRow(
            words.word(name, row[name]),
            row["pageviews"],
            row["visitors"],
            figures.share(row["pageviews"], found.pageviews),
            figures.length(row["pageviews"], most),
        )
        for row in kept
    ]
    title, head = words.WORDS[name].many, words.WORDS[name].one
    return SharedList(name, title, head, rows, others, figures.share(others, found.pageviews))
