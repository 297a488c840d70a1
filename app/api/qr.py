"""What does a link's short address look like as a QR code?"""

from __future__ import annotations

from flask import Response

from app import own_addresses
from app.api import present
from app.api.auth import caller
from app.bodies import read_query
from app.errors import FieldError, Invalid
from app.links import qr
from app.links.models import Link
from app.links.qr_forms import QrForm
from app.ownership import get_owned
from app.reading import Rejected
from app.sent import Sent

DRAW = {"svg": (qr.svg, "image/svg+xml"), "png": (qr.png, "image/png")}


def read(id: int) -> Response:
    """The picture itself."""
    asked = Sent([pair for pair in read_query() if pair[0] != "logo"])  # no address of a file is fetched
    link = get_owned(caller(), Link, id)
    form = QrForm(asked, owner=caller())
    form.require_valid()
    draw, kind = DRAW[form.format.data or "svg"]
    return Response(draw(drawing(link, form.look)), mimetype=kind)


def drawing(link: Link, look: qr.Look) -> qr.Drawing:
    domains = present.addresses([link.domain_id] if link.domain_id else [])
    address = own_addresses.short_url(link.url, domains.get(link.domain_id or 0))
    try:
        return qr.draw(address, look)
    except Rejected as rejected:
        problem = rejected.args[0]
        raise Invalid(FieldError(str(problem), problem.code, problem.field)) from None
