"""Security headers of the owner's pages."""

from __future__ import annotations

from flask import Flask, Response, request

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
OWNERS = ("dashboard", "login", "logout", "setup")


def init_app(app: Flask) -> None:
    app.after_request(protect)


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
