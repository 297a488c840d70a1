"""Serves uploaded pictures, from files or from the database, and the default icon."""

from __future__ import annotations

import re
from pathlib import Path

from flask import Blueprint, Flask, Response, abort, send_from_directory

from app.core.extensions import db
from app.core.file_copies import copy_of
from app.web.application import settings

# as app/links/uploads.py names them: nothing else is served, whatever is in the directory
NAME = re.compile(r"[0-9A-Za-z_-]{8,56}\.(png|jpg|gif|webp|ico)", re.ASCII)
TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "ico": "image/x-icon",
}
FOLDER = "uploads"
YEAR = 365 * 24 * 3600

blueprint = Blueprint("media", __name__)


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)


@blueprint.get("/media/<name>")
def media(name: str) -> Response:
    """Serves an uploaded file. Its name is random and never used again, so clients may cache it for ever."""
    match = NAME.fullmatch(name)
    if match is None:
        abort(404)
    path: Path | None = settings().data_dir / FOLDER / name
    if not settings().is_sqlite:
        path = copy_of(db.session, f"{FOLDER}/{name}", settings().data_dir)
        db.session.rollback()  # a slow client must not hold a connection of the database
    if path is None:
        abort(404)
    answer = send_from_directory(path.parent, path.name, mimetype=TYPES[match[1]], max_age=YEAR)
    answer.headers["Cache-Control"] = f"public, max-age={YEAR}, immutable"
    answer.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return answer


@blueprint.get("/favicon.ico")
def favicon() -> Response:
    """Serves the icon that browsers request where a page names none."""
    return send_from_directory("static", "icon.svg", mimetype="image/svg+xml", max_age=24 * 3600)
