"""Spans of the requests of owners: of the dashboard, the API and sign-in.

Visitors have none: a span takes longer than a redirect, and would say when somebody opened which link.
A span names the route with its placeholders, never the path, the query, a header or an address.
"""

# see docs/decisions/2026-11-25-traces.md
from __future__ import annotations

from contextlib import ExitStack
from http import HTTPMethod, HTTPStatus

from flask import Flask, Response, g, request

from app.core.tracing import tracing
from app.web.application import settings
from app.web.paths import OWNERS, first_segment

METHODS = frozenset(HTTPMethod)


def init_app(app: Flask) -> None:
    if tracing.is_wanted:
        app.before_request(begin)
        app.after_request(finish)


def begin() -> None:
    if first_segment(request.path) not in OWNERS:
        return
    method = request.method if request.method in METHODS else "_OTHER"
    route = {"http.route": request.url_rule.rule} if request.url_rule else {}
    g.trace = ExitStack()
    g.span = g.trace.enter_context(
        tracing.span(
            " ".join([method.replace("_OTHER", "HTTP"), *route.values()]),
            {"http.request.method": method, "waypost.request_id": g.request_id, **route},
            is_request=True,
            parent=traceparent(),
        )
    )


def traceparent() -> str:
    """The trace that a trusted proxy has begun. Anybody else could write into traces of others."""
    return request.headers.get("traceparent", "") if settings().trusted_proxies else ""


def finish(response: Response) -> Response:
    if "trace" in g:
        g.span.note({"http.response.status_code": response.status_code})
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            g.span.fail(str(response.status_code))
        g.trace.close()
    return response
