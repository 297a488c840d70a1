"""Start page of the dashboard, its palette, and what a browser keeps of its look: colours, room of a row.

The palette's script asks for the entries when it is opened first, and for links with each word that is typed.
"""

# see docs/decisions/2026-11-24-rows-of-links.md
from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from flask import Response, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.links.filters import LISTING
from app.dashboard.links.rows import host_of, short_address, short_url
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.rendering import DENSITIES, DENSITY_COOKIE, THEME_COOKIE, THEMES
from app.dashboard.shared.words import words_for
from app.dashboard.shared.workspace import may_use, workspace_id
from app.input.params import MAX_CHARACTERS, ParamReader, bounded
from app.links.models import Link
from app.web.body import read_params
from app.web.security_headers import host_cookie

YEAR = 365 * 24 * 3600


@blueprint.get("/")
def home() -> ResponseReturnValue:
    return redirect(url_for("dashboard.links"))


@blueprint.post("/theme")
def theme() -> ResponseReturnValue:
    """Keep the colours for a year and go back. Scripts set the same cookie without this request."""
    return keep_choice("theme", THEME_COOKIE, THEMES)


@blueprint.post("/density")
def density() -> ResponseReturnValue:
    """Keep the density of lists for a year and go back. Scripts set the same cookie without this request."""
    return keep_choice("density", DENSITY_COOKIE, DENSITIES)


def keep_choice(field: str, cookie: str, choices: Container[str]) -> Response:
    """Keep what the field says in this cookie; anything but one of the choices means none."""
    chosen, name = submitted_form().text(field), host_cookie(cookie)
    response = make_response(redirect(local_path(submitted_form().text("back")), 303))
    if chosen in choices:
        response.set_cookie(name, chosen, max_age=YEAR, samesite="Lax", secure=request.is_secure)
    else:
        response.delete_cookie(name, samesite="Lax", secure=request.is_secure)
    return response


def local_path(text: str) -> str:
    """A path of ours, never another host: `//host` and `/\\host` are addresses too."""
    is_ours = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_ours else url_for("dashboard.home")


# --- palette of Ctrl+K: the pages, what can be done from anywhere, and the links of the user


MAX_LINKS = 6


class PaletteCommand(NamedTuple):
    """Something to do from anywhere: a page to open, or what the palette's script does.

    `also`: other words by which it is found.
    """

    title: str
    icon: str
    endpoint: str = ""
    act: str = ""
    shortcut: str = ""
    also: str = ""


COMMANDS = tuple(PaletteCommand(**words) for words in words_for("palette"))


@blueprint.get("/palette", endpoint="palette")
def show_entries() -> str:
    """The pages and the commands that the reader may use, for the palette to choose from."""
    commands = [one for one in COMMANDS if not one.endpoint or may_use(one.endpoint)]
    return render_template("dashboard/palette/_entries.html", pages=rendering.navigation(), commands=commands)


@blueprint.get("/palette/links", endpoint="palette_links")
def show_links() -> str:
    """The user's links that have every word of `search`, newest first; a few of them."""
    params = ParamReader(read_params(), ignores_empty=True)
    text = params.read("search", "", lambda text: bounded(text.strip(), MAX_CHARACTERS))
    params.require_valid()
    return render_template(
        "dashboard/palette/_links.html",
        links=find_links(text) if text else [],
        short_address=short_address,
        short_url=short_url,
        host_of=host_of,
    )


def find_links(text: str) -> Sequence[Link]:
    """Without a count of all: the palette shows a few, and opens the list for more."""
    found = LISTING.filters["search"](text, {"search": text})
    mine = select(Link).where(Link.workspace_id == workspace_id())
    mine = mine if found is None else mine.where(found)
    newest = mine.options(joinedload(Link.domain)).order_by(Link.id.desc()).limit(MAX_LINKS)
    return db.session.scalars(newest).all()
