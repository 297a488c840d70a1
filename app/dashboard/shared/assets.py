"""Static files at versioned addresses, so that browsers cache them for a year; and icons as inline SVG.

Each drawing of an icon is written out where it is used. A reference (`<use>`) is half as long, but the
browser then builds a tree of its own for each, and a list of rows took a fifth longer to show.
"""

# see docs/decisions/2026-11-20-dashboard-look.md
from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from flask import Blueprint, Flask, Response, abort, current_app, request, url_for
from markupsafe import Markup

from app.core.folders import ROOT

blueprint = Blueprint("assets", __name__, url_prefix="/static")
CACHE_CONTROL = "public, max-age=31536000, immutable"
SENT = {".css", ".js", ".png", ".svg", ".webmanifest"}
DRAWINGS = ROOT / "app" / "templates" / "_icons.svg"
ONE_DRAWING = re.compile(r'<symbol id="icon-([a-z0-9-]+)" viewBox="0 0 24 24">(.+)</symbol>')
COMMENTS = {".css": re.compile(rb"/\*.*?\*/", re.DOTALL), ".js": re.compile(rb"^[ \t]*//.*$", re.MULTILINE)}


class Asset(NamedTuple):
    """A file, plain and compressed."""

    plain: bytes
    zipped: bytes
    mimetype: str


@cache
def assets(folder: Path) -> dict[str, Asset]:
    """All files, read and compressed once a process: together they are some 400 KiB."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in SENT)
    return {path.relative_to(folder).as_posix(): read(path) for path in found}


def read(path: Path) -> Asset:
    content = without_comments(path)
    # no time stamp inside: the same file is the same bytes in every process
    return Asset(content, gzip.compress(content, 9, mtime=0), mimetypes.guess_type(path.name)[0] or "")


def without_comments(path: Path) -> bytes:
    """The file as it is sent: our own scripts and styles without comments, a tenth of them when compressed.

    Lines keep their numbers. In scripts a comment has lines of its own, in styles it may be anywhere.
    """
    content = path.read_bytes()
    comment = None if path.parent.name == "vendor" else COMMENTS.get(path.suffix)
    return comment.sub(lambda found: b"\n" * found[0].count(b"\n"), content) if comment else content


@cache
def version(folder: Path) -> str:
    """One hash over all files: a style sheet names others by relative addresses, so they move together."""
    content = b"".join(asset.plain for asset in assets(folder).values())
    return hashlib.sha256(content).hexdigest()[:12]


def asset(name: str) -> str:
    """The versioned address of a static file, for templates."""
    return url_for("assets.send", wanted=version(folder()), filename=name)


def folder() -> Path:
    return Path(str(current_app.static_folder))


@blueprint.get("/<string(length=12):wanted>/<path:filename>")
def send(wanted: str, filename: str) -> Response:
    """Cached for a year in the current version; for another one (a page from before an update) not stored."""
    found = assets(folder()).get(filename) or abort(404)
    is_zipped = request.accept_encodings.quality("gzip") > 0
    response = Response(found.zipped if is_zipped else found.plain, mimetype=found.mimetype)
    if is_zipped:
        response.headers["Content-Encoding"] = "gzip"
    response.vary.add("Accept-Encoding")
    response.headers["Cache-Control"] = CACHE_CONTROL if wanted == version(folder()) else "no-store"
    return response


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)
    app.add_template_global(asset)
    app.add_template_global(icon, "drawn_icon")


@cache
def icon(name: str, kind: str = "") -> Markup:
    """The icon of this name, with one more class; KeyError where there is none."""
    classes = f"icon {kind}" if kind else "icon"
    return Markup(f'<svg class="{classes}" viewBox="0 0 24 24" aria-hidden="true">{drawings()[name]}</svg>')  # noqa: S704  all of it is ours


@cache
def drawings() -> dict[str, str]:
    return dict(ONE_DRAWING.findall(DRAWINGS.read_text()))
