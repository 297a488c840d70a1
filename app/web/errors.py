"""HTTP status, text and headers of each error, and its response of the API as JSON (RFC 9457).

Both edges use this table: the API sends an `ErrorAnswer` as JSON, the pages as HTML.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from flask import Response, request
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from app.core import errors
from app.core.errors import FieldError, StoreDown
from app.i18n.messages import lazy_gettext as _l

STATUSES: dict[type[errors.WaypostError], int] = {
    errors.Malformed: 400,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.AliasTaken: 409,
    errors.ResourceInUse: 409,
    errors.Conflict: 409,
    errors.Gone: 410,
    errors.PreconditionFailed: 412,
    errors.TooLarge: 413,
    errors.UnsupportedMediaType: 415,
    errors.Invalid: 422,
    errors.RateLimited: 429,
    errors.Busy: 503,
}
RETRY_SECONDS = 2
# SQLite has no codes for these in Python 3.11's messages that SQLAlchemy keeps; PostgreSQL has
FULL_TEXTS = ("database or disk is full", "No space left")
BUSY_TEXTS = ("is locked", "is busy", "unable to open database", "disk I/O error", "readonly database")
FULL_CODES = frozenset({"53100"})
FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True)
class ErrorAnswer:
    """What an edge sends: the status, at least one entry, and headers that belong to the status. `facts`:
    further members of the API's answer."""

    status: int
    entries: Sequence[FieldError]
    headers: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


def failure_of(error: Exception) -> ErrorAnswer:
    """The answer to an error. One that is not known here is a 500 that reveals no details."""
    if isinstance(error, errors.WaypostError):
        facts = error.facts if isinstance(error, errors.Gone) else {}
        return ErrorAnswer(status_of(error), error.errors, headers_of(error), facts)
    if isinstance(error, HTTPException):
        return of_werkzeug(error)
    if is_full(error):
        return ErrorAnswer(507, [FieldError(_l("There is no space left to store this."), "storage_full")])
    if is_busy(error):
        entry = FieldError(
            _l("The storage does not answer right now; try again in a moment."), "storage_busy"
        )
        return ErrorAnswer(503, [entry], {"Retry-After": str(RETRY_SECONDS)})
    return ErrorAnswer(500, [FieldError(_l("Something went wrong on our side."), "internal")])


def status_of(error: errors.WaypostError) -> int:
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def headers_of(error: errors.WaypostError) -> dict[str, str]:
    if isinstance(error, errors.Unauthorized):
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": str(error.seconds)} if isinstance(error, errors.RetryLater) else {}


def of_werkzeug(error: HTTPException) -> ErrorAnswer:
    status = error.code or 500
    headers = (
        {"Allow": ", ".join(sorted(error.valid_methods or ()))} if isinstance(error, MethodNotAllowed) else {}
    )
    text, code = WORDS.get(status, (error.description or error.name, error.name.lower().replace(" ", "_")))
    return ErrorAnswer(status, [FieldError(text, code)], headers)


WORDS = {
    400: (_l("The request can't be read."), "malformed"),
    404: (_l("There is no page at this address."), "not_found"),
    405: (_l("This method can't be used here."), "method_not_allowed"),
    413: (_l("The body is too large."), "too_large"),
    415: (_l("The body is of a type that is not read here."), "content_type"),
    429: (_l("Too many requests. Try again later."), "rate_limited"),
    500: (_l("Something went wrong on our side."), "internal"),
}


def is_full(error: Exception) -> bool:
    if isinstance(error, DBAPIError):
        code = getattr(error.orig, "sqlstate", None)
        return code in FULL_CODES or any(text in str(error.orig) for text in FULL_TEXTS)
    return isinstance(error, OSError) and error.errno in FULL_ERRNOS


def is_busy(error: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(error, PoolTimeout | StoreDown):
        return True
    if not isinstance(error, OperationalError) or isinstance(error, IntegrityError):
        return False
    if hasattr(error.orig, "sqlstate"):  # PostgreSQL: lost connections, deadlocks, time-outs
        return True
    return any(text in str(error.orig) for text in BUSY_TEXTS)


PROBLEM = "application/problem+json"


def problem(failure: ErrorAnswer) -> Response:
    """The response, in one shape for every status: RFC 9457 with `message` and one entry for each error."""
    body = json.dumps(described(failure, request.path), ensure_ascii=False)
    return Response(body, failure.status, failure.headers, content_type=PROBLEM)


def described(failure: ErrorAnswer, path: str) -> dict[str, Any]:
    detail = " ".join(str(entry.title) for entry in failure.entries[:3])
    return {
        "type": "about:blank",
        "title": HTTPStatus(failure.status).phrase,
        "status": failure.status,
        "detail": detail,
        "instance": path,
        "message": detail,
        "errors": [
            {
                "title": str(entry.title),
                "status": failure.status,
                **({"field": entry.field} if entry.field else {}),
                "code": entry.code,
            }
            for entry in failure.entries
        ],
        **failure.facts,
    }
