"""Where are the static files, so that a browser may keep them for ever and still gets the new ones?"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, Response, abort, current_app, send_from_directory, url_for

blueprint = Blueprint("assets", __name__, url_prefix="/static")
YEAR = 365 * 24 * 3600
FILES = {"app.css", "app.js", "icon.svg", "vendor/htmx.min.js", "vendor/pico.min.css"}


@cache
def version(folder: Path) -> str:
    """One hash over all files: a style sheet names others by relative addresses, so they move together."""
    content = hashlib.sha256()
    for name in sorted(FILES):
        content.update((folder / name).read_bytes())
    return content.hexdigest()[:12]


def asset(name: str) -> str:
    """The address of a static file for a page to name."""
    return url_for("assets.send", wanted=version(folder()), filename=name)


def folder() -> Path:
    return Path(str(current_app.static_folder))


@blueprint.get("/<string(length=12):wanted>/<path:filename>")
def send(wanted: str, filename: str) -> Response:
    """A file of this very version for a year; of another one (a page from before an update) unkept."""
    if filename not in FILES:
        abort(404)
    response = send_from_directory(folder(), filename, max_age=YEAR)
    response.cache_control.public = True
    response.cache_control.immutable = True
    if wanted != version(folder()):
        response.headers["Cache-Control"] = "no-store"
    return response


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)
    app.add_template_global(asset)
