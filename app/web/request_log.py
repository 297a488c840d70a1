"""Request log: one line for each request with method, path, status, time and user.

It never holds a query string, a key, a referrer or an IP address.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from http import HTTPStatus
from urllib.parse import quote

import structlog
from flask import Flask, Response, g, request

from app.core.actor import Origin, set_origin
from app.core.config import Settings
from app.core.logging import configure, log_event
from app.net.networks import mask_address
from app.web.paths import OPERATORS, first_segment

ECHOED = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def init_app(app: Flask) -> None:
    settings: Settings = app.config["WAYPOST"]
    configure(settings.log_format, settings.log_level)
    app.before_request(begin)
    app.after_request(finish)


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
