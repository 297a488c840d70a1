"""Page that draws the QR code of a link, with a choice of its look.

The picture is embedded in the page as a data: URL. So a logo is never stored, only read and drawn.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from flask import Response, current_app

from app.accounts.access import get_owned
from app.dashboard.auth.access import submitted_form
from app.dashboard.links.rows import short_address, short_url
from app.dashboard.links.verdicts import standing_of
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access
from app.i18n.messages import gettext as _
from app.input.parsers import Rejected
from app.links import qr
from app.links.models import Link
from app.links.qr import QrForm

SIZES = (256, 512, 1024, 2048)
SIZE = 1024  # enough for print as well as for a screen
MARGINS = (0, 1, 2, 4, 8)
KINDS = (("SVG", "svg", "image/svg+xml", qr.render_svg), ("PNG", "png", "image/png", qr.render_png))
FOLDER = "dashboard/links"
NEW = {"size": SIZE, "margin": qr.MARGIN, "dark": qr.DARK, "light": qr.LIGHT}


@blueprint.get("/links/<int:id>/qr", endpoint="links_qr")
def ask(id: int) -> Response:
    link = get_owned(current_access(), Link, id)
    form = QrForm(None, owner=current_access(), data=NEW)
    return render_page("qr", link, form, qr.Look(size=SIZE))


@blueprint.post("/links/<int:id>/qr", endpoint="links_qr_write")
def draw(id: int) -> Response:
    """Draw the code. The dialog gets the picture alone: its controls keep their values, a chosen file too."""
    link = get_owned(current_access(), Link, id)
    form = QrForm(submitted_form(), owner=current_access(), settings=current_app.config["WAYPOST"])
    name = "qr_picture" if rendering.is_fragment() else "qr"
    return render_page(name, link, form, form.look if form.validate() else None)


def render_page(name: str, link: Link, form: QrForm, look: qr.Look | None) -> Response:
    found = drawn(link, form, look) if look else {}
    context = {
        "link": link,
        "form": form,
        "here": "links",
        "heading": _("QR code of %(address)s", address=short_address(link)),
        "address": short_url(link),
        "standing": standing_of(link),
        "sizes": [(size, _("%(size)s × %(size)s pixels", size=size)) for size in SIZES],
        "margins": [
            (margin, _("%(margin)s modules", margin=margin) if margin else _("None")) for margin in MARGINS
        ],
        **found,
    }
    fragment = f"{FOLDER}/_{name}.html"
    return rendering.render_page(f"{FOLDER}/qr.html", fragment, status=200 if found else 422, **context)


def drawn(link: Link, form: QrForm, look: qr.Look) -> dict[str, Any]:
    """Context of a code that can be drawn. Otherwise empty, with an error in the form."""
    try:
        drawing = qr.draw(short_url(link), look)
    except Rejected as rejected:
        problem = rejected.args[0]
        form.reject("size", problem.title, problem.code)
        return {}
    pictures = [(label, suffix, inside(kind, draw(drawing))) for label, suffix, kind, draw in KINDS]
    return {"pictures": pictures, "warning": qr.warning(look), "file_name": file_name(link)}


def inside(kind: str, content: bytes) -> str:
    """A picture as a data: URL."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def file_name(link: Link) -> str:
    """File name like the short link, with "-" for characters that a file system may refuse."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", short_address(link).replace(":", "-")).strip("-.")
    return f"qr-{plain[:80] or link.id}"
