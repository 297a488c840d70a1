"""Clicks of the rows that somebody looks at: what has changed since they were drawn.

One small request asks for all of them, every few seconds while the page is visible (counts.js).
"""

# see docs/decisions/2026-11-24-rows-of-links.md
from __future__ import annotations

from collections.abc import Mapping

from flask import Response, get_template_attribute, jsonify
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from app.core.extensions import db
from app.dashboard.links.rows import short_address, small_lines
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import workspace_id
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import MAX_ID
from app.input.params import ParamReader
from app.input.parsers import Rejected, parse_integer
from app.links.clicks import clicks_of
from app.links.models import Link
from app.web.body import read_params

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
