"""Rows of the link list: columns, menu entries, line charts, and what templates need; totals of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from flask import Response, current_app, get_template_attribute, jsonify, make_response, url_for
from sqlalchemy import exists, func, inspect, select
from sqlalchemy.orm import InstrumentedAttribute, joinedload, selectinload

from app.accounts.access import Access
from app.analytics.clickhouse.client import StatisticsUnavailable
from app.analytics.statistics import last_days
from app.core import clock
from app.core.errors import NotFound
from app.core.extensions import db
from app.core.urls import split_address
from app.dashboard.auth.access import signed_in_user
from app.dashboard.links.states import marks_of, state_of
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access, may_use, workspace_id
from app.dashboard.statistics import figures
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import MAX_ID
from app.input.params import ParamReader
from app.input.parsers import Rejected, parse_integer
from app.links.clicks import COUNTER, LIMIT_COUNTER, clicks_of
from app.links.destination_checks import failing
from app.links.favicons import versions_of
from app.links.models import Favicon, Link
from app.projects.models import SAMPLES, Project
from app.web import urls
from app.web.body import read_params

# of the small line charts of clicks
DAYS = 30
WIDTH, HEIGHT = 87, 22  # three units a day, so that few decimals are needed

# the columns that a user can show or hide
COLUMNS = {
    "title": _l("Title"),
    "rules": _l("Rules"),
    "pixels": _l("Pixels"),
    "tags": _l("Tags"),
    "project": _l("Project"),
    "created": _l("Created"),
    "clicks": _l("Clicks"),
}
# pages in a row's menu, if they are registered: endpoint, key, icon and words
PLACES: tuple[tuple[str, str, str, str], ...] = (
    ("links_qr", "q", "qr-code", _l("QR code")),
    ("links_statistics", "s", "chart-no-axes-column", _l("Statistics")),
    ("links_try", "v", "eye", _l("Try as visitor")),
)


@blueprint.app_template_global()
def page_of_link(id: int) -> str:
    """The page of a link that the reader may open: where it is edited, or else its statistics."""
    return url_for("dashboard.links_edit" if may_use("links_edit") else "dashboard.links_statistics", id=id)


def beside_rows(rows: Sequence[Link]) -> dict[str, Any]:
    ids = [row.id for row in rows]
    load_around(ids)
    return {
        "clicks": clicks_of(ids),
        "small_lines": small_lines(ids),
        "now": clock.now(),
        "failing": failing(db.session, ids),
        "favicons": icon_addresses(rows),
        "state_of": state_of,
        "marks_of": marks_of,
        "short_address": short_address,
        "short_url": short_url,
        "host_of": host_of,
        "own_host": own_host(),
        "places": places,
        "list_address": cache(partial(url_for, "dashboard.links")),  # many rows have the same chips
        "has_samples": has_samples(current_access()),
    }


class SmallLine(NamedTuple):
    """The clicks of the last days: how many, and the points of their line."""

    clicks: int
    points: str


def small_lines(links: Sequence[int]) -> dict[int, SmallLine]:
    """The lines of all links of a page, with one query."""
    zone = rendering.owner_zone()
    try:
        found = last_days(db.session, links, DAYS, zone) if links else {}
    except StatisticsUnavailable:  # the list goes on without them
        return dict.fromkeys(links, SmallLine(0, ""))
    return {
        id_: SmallLine(sum(counts), figures.points(counts, WIDTH, HEIGHT)) for id_, counts in found.items()
    }


def has_samples(access: Access) -> bool:
    """Whether the workspace has sample data that can be removed."""
    mine = exists().where(Project.workspace_id == access.workspace_id, Project.name == SAMPLES)
    return bool(db.session.scalar(select(mine)))


def places(id: int) -> list[tuple[str, str, str, str]]:
    """The pages of a row's menu: address, key, icon and words of each."""
    return [
        (url_for(f"dashboard.{endpoint}", id=id), key, icon, words)
        for endpoint, key, icon, words in PLACES
        if f"dashboard.{endpoint}" in current_app.view_functions
    ]


def load_around(ids: Sequence[int]) -> None:
    """Load the related rows of all links in a few queries."""
    around = [
        selectinload(Link.tag_rows),
        selectinload(Link.pixels),
        selectinload(Link.handlers),
        joinedload(Link.domain),
        joinedload(Link.project),
    ]
    found = select(Link).where(Link.id.in_(ids)).options(*around).execution_options(populate_existing=True)
    db.session.scalars(found).all()


def load_addresses(links: Sequence[Link]) -> None:
    """Load what the short links of new links are made of, with one query instead of one for each."""
    ids: list[int] = [inspect(link).identity[0] for link in links]  # to read the id of a link would load it
    with_domains = select(Link).where(Link.id.in_(ids)).options(joinedload(Link.domain))
    db.session.scalars(with_domains.execution_options(populate_existing=True)).all()


def short_url(link: Link) -> str:
    domain = link.domain and f"{link.domain.scheme}{link.domain.host}"
    return urls.short_url(link.url, domain)


def short_address(link: Link) -> str:
    """The short link as people read it: without the scheme, and with every letter as it was typed."""
    return f"{link.domain.host if link.domain else own_host()}/{link.url}"


def own_host() -> str:
    return urlsplit(urls.links_site()).netloc


def host_of(link: Link) -> str:
    """The destination's host, for the letter and the colour of the row."""
    return (split_address(link.location_url).hostname or "?").removeprefix("www.")


# --- icons of destinations


YEAR = 365 * 24 * 3600


def icon_addresses(links: Sequence[Link]) -> Mapping[int, str]:
    """The address of the icon of each link that has one, by link id."""
    is_wanted = links and signed_in_user().fetches_favicons
    found = versions_of(workspace_id(), links) if is_wanted else {}
    first, last = url_for("dashboard.links_icon", id=0, digest="_").split("0-_")
    return {link_id: f"{first}{version}{last}" for link_id, version in found.items()}


@blueprint.get("/links/icons/<int:id>-<digest>.png", endpoint="links_icon")
def show_icon(id: int, digest: str) -> Response:
    """The icon of a site. Its address changes with it, so browsers may keep it."""
    mine = Favicon.id == id, Favicon.workspace_id == workspace_id(), Favicon.digest == digest
    content = db.session.scalar(select(Favicon.content).where(*mine))
    if content is None:
        raise NotFound("icon")
    answer = make_response(content)
    answer.headers["Content-Type"] = "image/png"
    answer.headers["Cache-Control"] = f"private, max-age={YEAR}, immutable"
    return answer


# --- clicks of the rows that somebody looks at: counts.js asks for what has changed every few seconds


MAX_ROWS = 100  # more than one screen holds
MAX_CHARACTERS = 4096  # of as many ids with their counts
MAX_CLICKS = 2**63 - 1


@blueprint.get("/links/clicks", endpoint="links_clicks")
def show_clicks() -> Response:
    """The rows whose clicks are not as `known` says (`7-120,9-0`: link and clicks), with their new words."""
    params = ParamReader(read_params(), ignores_empty=True)
    known = params.read("known", dict[int, int](), parse_known, MAX_CHARACTERS)
    params.require_valid()
    counts = clicks_of(list(known))
    return jsonify(changed_rows({link: count for link, count in counts.items() if count != known[link]}))


def parse_known(text: str) -> dict[int, int]:
    """Links with the clicks that their rows show. Raises Rejected."""
    pairs = [pair.partition("-") for pair in text.split(",")]
    if len(pairs) > MAX_ROWS:
        raise Rejected(_l("At most %(most)s rows at once.", most=MAX_ROWS), "too_many")
    return {parse_integer(link, 1, MAX_ID): parse_integer(clicks, 0, MAX_CLICKS) for link, _, clicks in pairs}


def changed_rows(counts: Mapping[int, int]) -> dict[int, dict[str, object]]:
    """Clicks and words of these links, as far as they are the user's own."""
    mine = select(Link).where(Link.id.in_(counts), Link.workspace_id == workspace_id())
    links = db.session.scalars(mine.options(joinedload(Link.domain))).all() if counts else []
    lines = small_lines([link.id for link in links])
    clicks_text = get_template_attribute("dashboard/links/_clicks.html", "clicks_text")
    return {
        link.id: {
            "clicks": counts[link.id],
            "html": clicks_text(counts[link.id], lines[link.id].clicks, short_address(link)),
        }
        for link in links
    }


class LinkTotals(NamedTuple):
    links: int = 0
    clicks: int = 0


def totals_by(column: InstrumentedAttribute[int | None], ids: Sequence[int]) -> dict[int, LinkTotals]:
    """The totals of each of these projects or domains, by `Link.project_id` or `Link.domain_id`."""
    clicks = func.coalesce(COUNTER.c.clicks, 0) + func.coalesce(LIMIT_COUNTER.c.clicks, 0)
    counted = (
        select(column, func.count(), func.sum(clicks))
        .outerjoin(COUNTER, COUNTER.c.link_id == Link.id)
        .outerjoin(LIMIT_COUNTER, LIMIT_COUNTER.c.link_id == Link.id)
        .where(column.in_(ids))
        .group_by(column)
    )
    found = {id_: LinkTotals(links, int(sum_)) for id_, links, sum_ in db.session.execute(counted)}
    return {id_: found.get(id_, LinkTotals()) for id_ in ids}
