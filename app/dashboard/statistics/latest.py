"""Who came last?"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import joinedload

from app.bodies import read_query
from app.clicks.latest import LatestVisit, latest_visits
from app.dashboard.link_rows import short_address
from app.dashboard.statistics import words
from app.dashboard.statistics.scopes import LINK, Scope
from app.dashboard.statistics.state import State
from app.extensions import db
from app.links.models import Link

ROWS, REALTIME_ROWS = 8, 50


class Shown(NamedTuple):
    """A visit in words."""

    visit: LatestVisit
    place: str
    machine: str
    icon: str
    source: str
    link: str  # its short address, and its statistics; both empty where the page is of one link
    address: str


def latest(scope: Scope, state: State) -> dict[str, Any]:
    """The last visits; `is_old_news` where the page that asks shows them already."""
    limit = REALTIME_ROWS if state.period == "realtime" else ROWS
    found = latest_visits(db.session, scope.asked(state, "overview"), limit)
    newest = str(found[0].id) if found else ""
    links = {} if scope.link else links_of({visit.link_id for visit in found})
    return {
        "visits": [shown(scope, state, visit, links) for visit in found],
        "newest": newest,
        "is_old_news": dict(read_query()).get("seen") == newest,
    }


def links_of(ids: set[int]) -> dict[int, Link]:
    wanted = select(Link).where(Link.id.in_(ids)).options(joinedload(Link.domain))
    return {link.id: link for link in db.session.scalars(wanted)}


def shown(scope: Scope, state: State, visit: LatestVisit, links: dict[int, Link]) -> Shown:
    country = words.word("country_code", visit.country_code or None)
    machine = [word for word in (visit.device.browser_name, visit.device.os_name) if word]
    link = links.get(visit.link_id)
    return Shown(
        visit,
        f"{visit.city_name}, {country}" if visit.city_name else country,
        visit.bot_name or ", ".join(machine) or words.word("browser_name", None),
        "bot" if visit.bot_name else words.DEVICE_ICONS.get(visit.device.device_type, "monitor"),
        f"{visit.referrer_host}{visit.referrer_path}"
        if visit.referrer_host
        else visit.utm_source or "Direct or unknown",
        short_address(link) if link else "",
        Scope(scope.user, LINK, "", scope.since, visit.link_id).address(**state.query()) if link else "",
    )
