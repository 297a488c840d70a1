"""Which headers does every answer carry, whoever made it?

What an answer has already is never replaced: pages set rules of their own.
"""

from __future__ import annotations

from flask import Flask, Response, request

from app.visits.plan import HSTS

ALWAYS = {"X-Content-Type-Options": "nosniff"}
NOT_A_PAGE = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox"}
API = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", **NOT_A_PAGE}


def init_app(app: Flask) -> None:
    app.after_request(add)


def add(response: Response) -> Response:
    secure = dict([HSTS]) if request.is_secure else {}
    for name, value in {**ALWAYS, **secure, **of(response)}.items():
        response.headers.setdefault(name, value)
    return response


def of(response: Response) -> dict[str, str]:
    if is_api(request.path):
        return API
    return {} if response.mimetype == "text/html" else NOT_A_PAGE


def is_api(path: str) -> bool:
    """Is this answered by the API's rules, whether or not there is anything?"""
    return path == "/api" or path.startswith("/api/")
