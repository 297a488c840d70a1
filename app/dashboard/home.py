"""Start page of the dashboard, and what a browser keeps of its look: the colours, and the room of a row."""

# see docs/decisions/2026-11-24-rows-of-links.md
from __future__ import annotations

from collections.abc import Container

from flask import Response, make_response, redirect, request, url_for
from flask.typing import ResponseReturnValue

from app.dashboard.auth.access import submitted_form
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.rendering import DENSITIES, DENSITY_COOKIE, THEME_COOKIE, THEMES
from app.web.cookies import host_cookie

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
    chosen, name = submitted_text(field), host_cookie(cookie)
    response = make_response(redirect(local_path(submitted_text("back")), 303))
    if chosen in choices:
        response.set_cookie(name, chosen, max_age=YEAR, samesite="Lax", secure=request.is_secure)
    else:
        response.delete_cookie(name, samesite="Lax", secure=request.is_secure)
    return response


def submitted_text(name: str) -> str:
    found = submitted_form().last(name) if name in submitted_form() else ""
    return found if isinstance(found, str) else ""


def local_path(text: str) -> str:
    """A path of ours, never another host: `//host` and `/\\host` are addresses too."""
    is_ours = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_ours else url_for("dashboard.home")
