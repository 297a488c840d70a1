"""Which pages go out compressed, when a secret is in nearly all of them?

BREACH tells a token by the length of pages that another site makes a browser ask for, with a guess in the
address. So a page is compressed only where the browser says that no other site asked (`Sec-Fetch-Site`, which
a page can't set; browsers send it over HTTPS), or where the line is plain HTTP and can be read anyway; and to
each a filler of a random length is added, in gzip's field for a file name ("Heal the BREACH", 2022).
"""

from __future__ import annotations

import gzip
import io
import secrets

from flask import Flask, Response, request

from app.dashboard.headers import is_owners
from app.own_addresses import settings

LEVEL = 5  # 100 kB in a millisecond; 9 takes four times as long for a fiftieth less
SMALLEST = 1_000  # bytes: below that one packet does
FILLER = 100  # bytes at most
ITSELF = {"same-origin", "none"}  # `none`: typed, or a bookmark


def init_app(app: Flask) -> None:
    app.after_request(compress)


def compress(response: Response) -> Response:
    """A page as gzip, where the browser takes that and nobody else could learn from its length."""
    if response.mimetype != "text/html" or response.is_streamed or not is_owners(request.path):
        return response
    response.vary.update(("Accept-Encoding", "Sec-Fetch-Site"))
    if (
        is_wanted()
        and "Content-Encoding" not in response.headers
        and len(page := response.get_data()) >= SMALLEST
    ):
        response.set_data(packed(page))
        response.headers["Content-Encoding"] = "gzip"
    return response


def is_wanted() -> bool:
    if request.accept_encodings.quality("gzip") <= 0:
        return False
    asked_by = request.headers.get("Sec-Fetch-Site")
    return asked_by in ITSELF if asked_by else not is_secret()


def is_secret() -> bool:
    """Is the line encrypted, here or at a proxy before us?"""
    named = (settings().base_url, settings().dashboard_url)
    return request.is_secure or any((url or "").startswith("https:") for url in named)


def packed(content: bytes) -> bytes:
    out = io.BytesIO()
    filler = "a" * secrets.randbelow(FILLER + 1)
    with gzip.GzipFile(filler, "wb", LEVEL, out, mtime=0) as zipped:
        zipped.write(content)
    return out.getvalue()
