"""Request log and spans: one line for each request with method, path, status, time and user.

Neither holds a query string, a key, a referrer or an IP address. Only requests of owners have a span: of the
dashboard, the API and sign-in. One takes longer than a redirect, and would say when somebody opened which
link. It names the route with its placeholders, never the path or a header.
"""

# see docs/decisions/2026-11-25-traces.md

from __future__ import annotations

import logging
import re
import time
import uuid
from contextlib import ExitStack
from http import HTTPMethod, HTTPStatus
from urllib.parse import quote

import structlog
from flask import Flask, Response, g, request

from app.core.actor import Origin, set_origin
from app.core.config import Settings
from app.core.logging import configure, log_event
from app.core.tracing import tracing
from app.net.networks import mask_address
from app.web.application import settings
from app.web.paths import OPERATORS, OWNERS, first_segment

ECHOED = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def init_app(app: Flask) -> None:
    settings: Settings = app.config["WAYPOST"]
    configure(settings.log_format, settings.log_level)
    app.before_request(begin)
    app.after_request(finish)
    if tracing.is_wanted:
        app.before_request(begin_span)
        app.after_request(finish_span)


def begin() -> None:
    g.began = time.perf_counter()
    g.request_id = request_id_of(request.headers.get("X-Request-Id", ""))
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)
    set_origin(Origin(mask_address(request.remote_addr or ""), g.request_id))


def request_id_of(sent: str) -> str:
    """The id that was sent, where it has only plain characters; else a new one."""
    return sent if ECHOED.fullmatch(sent) else uuid.uuid4().hex


def finish(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.request_id
    # health checks come every few seconds, and tell nothing while all is well
    path = request.path
    is_quiet = first_segment(path) in OPERATORS and response.status_code < HTTPStatus.BAD_REQUEST
    fields = {
        "method": request.method,
        "path": quote(path, safe="/~+@:"),
        "status": response.status_code,
        "ms": round((time.perf_counter() - g.began) * 1000, 1),
    }
    if "log_user" in g:
        fields["user"] = g.log_user
    log_event(logging.DEBUG if is_quiet else logging.INFO, "request", fields)
    return response


# --- spans of the requests of owners: of the dashboard, the API and sign-in


METHODS = frozenset(HTTPMethod)


def begin_span() -> None:
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


def finish_span(response: Response) -> Response:
    if "trace" in g:
        g.span.note({"http.response.status_code": response.status_code})
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            g.span.fail(str(response.status_code))
        g.trace.close()
    return response
