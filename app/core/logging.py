"""What does each process write to its log, and how do lines of one request belong together?

One line a request: method, path, status, time, user. Never a query string, a key, a referrer or an address.
"""

from __future__ import annotations

import logging
import re
import sys
import time
import uuid
from http import HTTPStatus
from urllib.parse import quote

import structlog
from flask import Flask, Response, g, request
from structlog.typing import Processor

from app.acting import Origin, set_origin
from app.audit.networks import mask_address
from app.config import Settings
from app.log_repeats import RepeatFilter
from app.visits.paths import OPERATORS, first_segment

ECHOED = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
log = structlog.stdlib.get_logger("waypost")

SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,  # a plain traceback: the other kind shows what variables held
]


def configure(log_format: str, log_level: str = "info") -> None:
    """Send everything that this process logs, libraries too, to stderr: `text` or `json`, a line each."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = OurHandler(sys.stderr)
    handler.setFormatter(formatter(log_format))
    handler.addFilter(RepeatFilter())
    root = logging.getLogger()
    for old in [other for other in root.handlers if isinstance(other, OurHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(log_level.upper())
    # a line for each migration is of use to who looks for a fault in one
    logging.getLogger("alembic").setLevel(logging.DEBUG if log_level == "debug" else logging.WARNING)


class OurHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Ours, to know it again: a second application in one process must not write each line twice."""


def formatter(log_format: str) -> logging.Formatter:
    render: Processor = text_line if log_format == "text" else structlog.processors.JSONRenderer()
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
    )


def text_line(_logger: object, _name: str, event: structlog.typing.EventDict) -> str:
    """`time level event name=value …`; a traceback follows on lines of its own."""
    trace = event.pop("exception", None)
    head = [event.pop("timestamp", ""), event.pop("level", "").upper(), plain(event.pop("event", ""))]
    rest = [f"{name}={plain(value)}" for name, value in event.items()]
    return " ".join([*head, *rest]) + (f"\n{trace}" if trace else "")


def plain(value: object) -> str:
    """Without what a terminal, or a reader line by line, would take for something else."""
    text = str(value)
    return text if text.isprintable() else repr(text)


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
    """The id that was sent, where it is plain; else a new one."""
    return sent if ECHOED.fullmatch(sent) else uuid.uuid4().hex


def finish(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.request_id
    # probes come every few seconds, and say nothing while all is well
    is_quiet = first_segment(request.path) in OPERATORS and response.status_code < HTTPStatus.BAD_REQUEST
    log.log(
        logging.DEBUG if is_quiet else logging.INFO,
        "request",
        method=request.method,
        path=quote(request.path, safe="/~+@:"),
        status=response.status_code,
        ms=round((time.perf_counter() - g.began) * 1000, 1),
        **({"user": g.log_user} if "log_user" in g else {}),
    )
    return response
