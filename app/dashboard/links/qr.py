"""How does an owner get a QR code of a link, as it should look?

The picture comes inside of the page, so that a logo is never stored: it is read, drawn and forgotten.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from flask import Blueprint, Response, current_app

from app.dashboard import pages
from app.dashboard.guard import sent, user
from app.dashboard.link_rows import short_address, short_url
from app.links import qr
from app.links.models import Link
from app.links.qr_forms import QrForm
from app.ownership import get_owned
from app.reading import Rejected

SIZES = (256, 512, 1024, 2048)
SIZE = 1024  # in print as on a screen
MARGINS = (0, 1, 2, 4, 8)
KINDS = (("SVG", "svg", "image/svg+xml", qr.svg), ("PNG", "png", "image/png", qr.png))
FOLDER = "dashboard/links"
NEW = {"size": SIZE, "margin": qr.MARGIN, "dark": qr.DARK, "light": qr.LIGHT}


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/links/<int:id>/qr", "links_qr", ask)
    blueprint.add_url_rule("/links/<int:id>/qr", "links_qr_write", draw, methods=["POST"])


def ask(id: int) -> Response:
    link = get_owned(user(), Link, id)
    form = QrForm(None, owner=user(), data=NEW)
    return answer("qr", link, form, qr.Look(size=SIZE))


def draw(id: int) -> Response:
    """For the dialog the picture alone: what was chosen stays where it is, a file too."""
    link = get_owned(user(), Link, id)
    form = QrForm(sent(), owner=user(), settings=current_app.config["WAYPOST"])
    name = "qr_picture" if pages.is_fragment() else "qr"
    return answer(name, link, form, form.look if form.validate() else None)


def answer(name: str, link: Link, form: QrForm, look: qr.Look | None) -> Response:
    found = drawn(link, form, look) if look else {}
    context = {
        "link": link,
        "form": form,
        "here": "links",
        "heading": f"QR code of {short_address(link)}",
        "address": short_url(link),
        "sizes": [(size, f"{size} × {size} pixels") for size in SIZES],
        "margins": [(margin, f"{margin} modules" if margin else "None") for margin in MARGINS],
        **found,
    }
    fragment = f"{FOLDER}/_{name}.html"
    return pages.page(f"{FOLDER}/qr.html", fragment, status=200 if found else 422, **context)


def drawn(link: Link, form: QrForm, look: qr.Look) -> dict[str, Any]:
    """What is shown of a code that can be drawn; nothing, and a problem of the form, where it can't."""
    try:
        drawing = qr.draw(short_url(link), look)
    except Rejected as rejected:
        problem = rejected.args[0]
        form.reject("size", str(problem), problem.code)
        return {}
    pictures = [(label, suffix, inside(kind, draw(drawing))) for label, suffix, kind, draw in KINDS]
    return {"pictures": pictures, "warning": qr.warning(look), "file_name": file_name(link)}


def inside(kind: str, content: bytes) -> str:
    """A picture as an address that holds it whole."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def file_name(link: Link) -> str:
    """As the short address, where that has only letters that every system takes."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", short_address(link).replace(":", "-")).strip("-.")
    return f"qr-{plain[:80] or link.id}"
