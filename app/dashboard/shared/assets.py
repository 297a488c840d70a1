"""Static files at versioned addresses, so that browsers cache them for a year."""

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

blueprint = Blueprint("assets", __name__, url_prefix="/static")
CACHE_CONTROL = "public, max-age=31536000, immutable"
FILES = (
    "account.css",
    "api.css",
    "app.css",
    "app.js",
    "link-form.js",
    "link-suggestions.js",
    "handlers.css",
    "links.css",
    "filters.css",
    "filters.js",
    "links.js",
    "manifest.webmanifest",
    "lists.js",
    "counts.js",
    "palette.css",
    "palette.js",
    "rows.css",
    "icon.svg",
    "icon-180.png",
    "icon-192.png",
    "icon-512.png",
    "icon-maskable-512.png",
    "leaving.js",
    "imports.css",
    "sending.js",
    "imports.js",
    "passkeys.js",
    "people.css",
    "statistics-picture.js",
    "statistics.css",
    "statistics.js",
    "vendor/htmx.min.js",
    "vendor/jsvectormap-world.js",
    "vendor/jsvectormap.min.css",
    "vendor/jsvectormap.min.js",
    "vendor/pico.min.css",
    "vendor/uplot.iife.min.js",
    "vendor/uplot.min.css",
)

COMMENTS = {".css": re.compile(rb"/\*.*?\*/", re.DOTALL), ".js": re.compile(rb"^[ \t]*//.*$", re.MULTILINE)}


class Asset(NamedTuple):
    """A file, plain and compressed."""

    plain: bytes
    zipped: bytes
    mimetype: str


@cache
def assets(folder: Path) -> dict[str, Asset]:
    """All files, read and compressed once a process: together they are some 400 KiB."""
    return {name: read(folder / name) for name in FILES}


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
