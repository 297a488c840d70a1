"""Icons of destinations beside links: their addresses, and the answers with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flask import Response, make_response, url_for
from sqlalchemy import select

from app.core.errors import NotFound
from app.core.extensions import db
from app.dashboard.auth.access import signed_in_user
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import workspace_id
from app.links.favicons import versions_of
from app.links.models import Favicon, Link

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
