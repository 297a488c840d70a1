"""Where does the dashboard begin, and in which colours?"""

from __future__ import annotations

from flask import Blueprint, make_response, redirect, request, url_for
from flask.typing import ResponseReturnValue

from app.cookies import host_cookie
from app.dashboard.guard import sent
from app.dashboard.pages import THEME_COOKIE, THEMES

YEAR = 365 * 24 * 3600


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/", view_func=home)
    blueprint.add_url_rule("/theme", view_func=theme, methods=["POST"])


def home() -> ResponseReturnValue:
    return redirect(url_for("dashboard.links"))


def theme() -> ResponseReturnValue:
    """Keep the colours for a year and go back. Scripts set the same cookie themselves, without this."""
    chosen, name = typed("theme"), host_cookie(THEME_COOKIE)
    response = make_response(redirect(local_path(typed("back")), 303))
    if chosen in THEMES:
        response.set_cookie(name, chosen, max_age=YEAR, samesite="Lax", secure=request.is_secure)
    else:
        response.delete_cookie(name, samesite="Lax", secure=request.is_secure)
    return response


def typed(name: str) -> str:
    found = sent().last(name) if name in sent() else ""
    return found if isinstance(found, str) else ""


def local_path(text: str) -> str:
    """A path of ours, never another host: `//host` and `/\\host` are addresses too."""
    is_ours = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_ours else url_for("dashboard.home")
