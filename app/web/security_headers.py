"""Security headers of every response, and names of cookies.

A header that a response has already is never replaced: pages set rules of their own. On https cookies carry
the prefix that browsers enforce. Behind a proxy only the request knows its scheme, so a name is made anew
with each request.
"""

from __future__ import annotations

from flask import Flask, Response, request

# on every response over https, for a year; not for subdomains, which may belong to others
HSTS = ("Strict-Transport-Security", "max-age=31536000")


ALWAYS = {"X-Content-Type-Options": "nosniff"}
NOT_A_PAGE = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox"}
API = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", **NOT_A_PAGE}


def init_app(app: Flask) -> None:
    app.after_request(add)


def add(response: Response) -> Response:
    secure = dict([HSTS]) if request.is_secure else {}
    given = {name.lower() for name, _ in response.headers}  # `setdefault` makes an exception for each
    for name, value in {**ALWAYS, **secure, **headers_for(response)}.items():
        if name.lower() not in given:
            response.headers.add(name, value)
    return response


def headers_for(response: Response) -> dict[str, str]:
    if is_api(request.path):
        return API
    return {} if response.mimetype == "text/html" else NOT_A_PAGE


def is_api(path: str) -> bool:
    """Whether a path belongs to the API, also where there is no such endpoint."""
    return path == "/api" or path.startswith("/api/")


def host_cookie(name: str) -> str:
    """Name of a cookie with `Path=/` and no domain: no response over http, and no other host, can set it."""
    return f"__Host-{name}" if request.is_secure else name


def secure_cookie(name: str) -> str:
    """Name of a cookie with another path: no response over http can set it."""
    return f"__Secure-{name}" if request.is_secure else name
