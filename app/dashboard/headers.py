"""Which headers keep the owner's pages to themselves?"""

from __future__ import annotations

from flask import Flask, Response, request

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",  # the small pictures inside the vendored style sheet
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
PAGE = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in POLICY.items()),
    "Cross-Origin-Opener-Policy": "same-origin",
    # other sites do not learn the dashboard's addresses
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
PRIVATE = {"Cache-Control": "no-store"}
OWNERS = ("dashboard", "login", "logout", "setup")


def init_app(app: Flask) -> None:
    app.after_request(protect)


def protect(response: Response) -> Response:
    """A page that needs other rules, as visitors' pages do, has set its own: those stay."""
    for name, value in PAGE.items() if response.mimetype == "text/html" else ():
        response.headers.setdefault(name, value)
    if is_owners(request.path):
        response.headers.update(PRIVATE)
    return response


def is_owners(path: str) -> bool:
    return path.split("/")[1] in OWNERS
