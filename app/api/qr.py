"""API of a link's QR code."""

from __future__ import annotations

from flask import Response

from app.accounts.ownership import get_owned
from app.api.auth import request_access
from app.api.blueprint import blueprint
from app.api.related_rows import addresses
from app.core.errors import FieldError, Invalid
from app.input.data import RequestData
from app.input.parsers import Rejected
from app.links import qr
from app.links.models import Link
from app.links.qr_forms import QrForm
from app.web import urls
from app.web.body import read_query

DRAW = {"svg": (qr.render_svg, "image/svg+xml"), "png": (qr.render_png, "image/png")}


@blueprint.get("/links/<row_id:id>/qr", endpoint="links_qr", strict_slashes=False)
def read(id: int) -> Response:
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
