"""The latest clicks of a statistics page."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import joinedload

from app.analytics.latest import LatestVisit, latest_visits
from app.core.extensions import db
from app.dashboard.links.rows import short_address
from app.dashboard.statistics import words
from app.dashboard.statistics.scopes import LINK, PageScope
from app.dashboard.statistics.state import PageState
from app.i18n.messages import gettext as _
from app.links.models import Link
from app.web.body import read_params

ROWS, REALTIME_ROWS = 8, 50


class VisitRow(NamedTuple):
    """A click in words."""

    visit: LatestVisit
    place: str
    machine: str
    icon: str
    source: str
    link: str  # short address; both empty where the page is about one link
    address: str


def latest(scope: PageScope, state: PageState) -> dict[str, Any]:
    """The latest clicks. `is_old_news`: the page that polls shows them already."""
    limit = REALTIME_ROWS if state.period == "realtime" else ROWS
    found = latest_visits(db.session, scope.asked(state, "overview"), limit)
    newest = str(found[0].id) if found else ""
    links = {} if scope.link else links_of({visit.link_id for visit in found})
    return {
        "visits": [visit_row(scope, state, visit, links) for visit in found],
        "newest": newest,
        "is_old_news": read_params().get("seen") == newest,
    }


def links_of(ids: set[int]) -> dict[int, Link]:
    wanted = select(Link).where(Link.id.in_(ids)).options(joinedload(Link.domain))
    return {link.id: link for link in db.session.scalars(wanted)}


def visit_row(scope: PageScope, state: PageState, visit: LatestVisit, links: dict[int, Link]) -> VisitRow:
    country = words.word("country_code", visit.country_code or None)
    machine = [word for word in (visit.device.browser_name, visit.device.os_name) if word]
    link = links.get(visit.link_id)
    return VisitRow(
        visit,
        f"{visit.city_name}, {country}" if visit.city_name else country,
        visit.bot_name or ", ".join(machine) or words.word("browser_name", None),
        "bot" if visit.bot_name else words.DEVICE_ICONS.get(visit.device.device_type, "monitor"),
        f"{visit.referrer_host}{visit.referrer_path}"
        if visit.referrer_host
        else visit.utm_source or _("Direct or unknown"),
        short_address(link) if link else "",
        PageScope(scope.user, LINK, "", scope.since, visit.link_id).address(**state.query()) if link else "",
    )
