"""Security headers of the owner's pages, and their compression without revealing secrets by their length.

Nearly all of them contain a secret. BREACH finds out a token by the length of pages that another site makes a
browser request, with a guess in the address. So a page is compressed only if the browser says that no other
site sent the request (`Sec-Fetch-Site`, which a page can't set; browsers send it over HTTPS), or if the
connection is plain HTTP and can be read anyway. Each gets a filler of a random length, in gzip's field for a
file name ("Heal the BREACH", 2022).
"""

from __future__ import annotations

import gzip
import io
import secrets

from flask import Flask, Response, request

from app.web.application import settings

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",  # the small pictures inside the vendored style sheet
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
PAGE = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in POLICY.items()),
    # other sites do not learn the dashboard's addresses
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
#: on plain HTTP browsers ignore it, and complain in the console of every page
SECURE_PAGE = {"Cross-Origin-Opener-Policy": "same-origin"}
PRIVATE = {"Cache-Control": "no-store"}
LEVEL = 5  # of compression: 100 kB in a millisecond; 9 takes four times as long for a fiftieth less
SMALLEST = 1_000  # bytes: a smaller page fits into one packet
FILLER = 100  # bytes at most
ITSELF = {"same-origin", "none"}  # `none`: typed, or a bookmark
OWNERS = ("dashboard", "login", "logout", "setup")


def init_app(app: Flask) -> None:
    app.after_request(protect)
    app.after_request(compress)


def protect(response: Response) -> Response:
    """Add the headers. A page that needs other rules, as visitors' pages do, has set its own: those stay."""
    if response.mimetype == "text/html":
        for name, value in (PAGE | SECURE_PAGE if is_secure() else PAGE).items():
            response.headers.setdefault(name, value)
    # a picture whose address changes with it has set this itself: a list has many of them
    if is_owners(request.path) and not response.cache_control.immutable:
        response.headers.update(PRIVATE)
    return response


def is_secure() -> bool:
    """Whether the browser treats the page as secure: then it sends `Sec-Fetch-Site` (HTTPS, localhost)."""
    return request.is_secure or "Sec-Fetch-Site" in request.headers


def is_owners(path: str) -> bool:
    return path.split("/")[1] in OWNERS


def compress(response: Response) -> Response:
    """Compress a page if the browser accepts gzip and no other site can learn from the length."""
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
    """Whether the connection is encrypted, here or at a proxy before us."""
    named = (settings().base_url, settings().dashboard_url)
    return request.is_secure or any((url or "").startswith("https:") for url in named)


def packed(content: bytes) -> bytes:
    out = io.BytesIO()
    filler = "a" * secrets.randbelow(FILLER + 1)
    with gzip.GzipFile(filler, "wb", LEVEL, out, mtime=0) as zipped:
        zipped.write(content)
    return out.getvalue()
