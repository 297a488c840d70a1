"""API of what a link does: its QR code, and what it answers to a simulated visitor."""

from __future__ import annotations

from typing import Any

from flask import Response

from app.accounts.access import get_owned
from app.api import envelope
from app.api.auth import request_access
from app.api.blueprint import blueprint
from app.api.related_rows import addresses
from app.core.clock import format_utc
from app.core.errors import FieldError, Invalid
from app.input.data import RequestData
from app.input.parsers import Rejected
from app.links import qr
from app.links.models import Link
from app.links.qr import QrForm
from app.redirects.request_context import redirect_context
from app.redirects.simulation.explanation import Explanation, explain
from app.redirects.simulation.params import read_profile
from app.web import urls
from app.web.body import read_query


@blueprint.get("/links/<row_id:id>/explain", endpoint="links_explain", strict_slashes=False)
def explain_link(id: int) -> Response:
    asked = RequestData(read_query())
    link = get_owned(request_access(), Link, id)
    return envelope.json_response({"data": described(explain(redirect_context(), link, read_profile(asked)))})


def described(explanation: Explanation) -> dict[str, Any]:
    outcome = explanation.outcome
    return {
        "outcome": outcome.outcome,
        "status": outcome.status,
        "location": outcome.location,
        "steps": [step._asdict() | {"detail": str(step.detail)} for step in outcome.steps],
        "visitor": visitor(explanation),
    }


def visitor(explanation: Explanation) -> dict[str, Any]:
    """The simulated visitor as it was interpreted; null means unknown or not given."""
    found, said = explanation.visitor, explanation.visitor.profile
    return {
        "at": format_utc(explanation.at),
        "ip": said.ip or None,
        "country_code": found.country_code or None,
        "continent_code": found.continent_code or None,
        "city_name": found.city_name or None,
        "user_agent": said.user_agent,
        "is_bot": found.is_bot,
        "device_type": found.device_type or None,
        "os_name": found.os_name or None,
        "browser_name": found.browser_name or None,
        "accept_language": said.accept_language,
        "languages": list(found.languages),
        "query": said.query,
        "referrer": said.referrer,
        "unlocked": sorted(said.unlocked),
    }


DRAW = {"svg": (qr.render_svg, "image/svg+xml"), "png": (qr.render_png, "image/png")}


@blueprint.get("/links/<row_id:id>/qr", endpoint="links_qr", strict_slashes=False)
def show_qr(id: int) -> Response:
    """The QR code as an image."""
    asked = RequestData(
        [pair for pair in read_query() if pair[0] != "logo"]
    )  # no address of a file is fetched
    link = get_owned(request_access(), Link, id)
    form = QrForm(asked, owner=request_access())
    form.require_valid()
    draw, kind = DRAW[form.format.data or "svg"]
    return Response(draw(drawing(link, form.look)), mimetype=kind)


def drawing(link: Link, look: qr.Look) -> qr.Drawing:
    domains = addresses([link.domain_id] if link.domain_id else [])
    address = urls.short_url(link.url, domains.get(link.domain_id or 0))
    try:
        return qr.draw(address, look)
    except Rejected as rejected:
        problem = rejected.args[0]
        raise Invalid(FieldError(problem.title, problem.code, problem.field)) from None
