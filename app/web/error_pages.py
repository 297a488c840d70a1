"""Error responses: a page for browsers, JSON for the API."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Flask, Response, current_app, g, make_response, render_template, request
from werkzeug.exceptions import HTTPException, SecurityError
from werkzeug.wrappers import Response as AnyResponse

from app.core import logging as core_logging
from app.core.errors import RetryLater
from app.i18n.messages import lazy_gettext as _l
from app.web import locale, security_headers
from app.web.errors import ErrorAnswer, failure_of, problem

# HTTP's names of the statuses that people meet
PHRASES = {
    400: _l("Bad Request"),
    401: _l("Unauthorized"),
    403: _l("Forbidden"),
    404: _l("Not Found"),
    405: _l("Method Not Allowed"),
    408: _l("Request Timeout"),
    409: _l("Conflict"),
    410: _l("Gone"),
    412: _l("Precondition Failed"),
    413: _l("Request Entity Too Large"),
    415: _l("Unsupported Media Type"),
    422: _l("Unprocessable Entity"),
    429: _l("Too Many Requests"),
    500: _l("Internal Server Error"),
    503: _l("Service Unavailable"),
    507: _l("Insufficient Storage"),
}


def init_app(app: Flask) -> None:
    app.register_error_handler(Exception, handle_error)


def handle_error(error: Exception) -> Response | AnyResponse | HTTPException:
    return error if isinstance(error, HTTPException) and is_answer(error) else error_response(error)


def error_response(error: Exception) -> Response:
    """The response to an error: JSON for the API, else a page. A failure on our side is logged too."""
    failure = failure_of(error)
    if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not is_expected(error):
        core_logging.log.error("failed", exc_info=error, status=failure.status)
    # for an untrusted host no URL can be built, so a page can't name its own files
    needs_nothing = failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, SecurityError)
    return (
        problem(failure)
        if security_headers.is_api(request.path)
        else render_failure(failure, needs_nothing=needs_nothing)
    )


def is_expected(error: Exception) -> bool:
    """Whether a failure on our side is meant to be, and needs no line in the log."""
    return isinstance(error, RetryLater)


def is_answer(error: HTTPException) -> bool:
    """Whether this is no failure: `abort(response)`, or a redirect of the routing."""
    return error.response is not None or (error.code or 500) < HTTPStatus.BAD_REQUEST


def render_failure(failure: ErrorAnswer, *, needs_nothing: bool) -> Response:
    context = {
        # not `or`: whether a text is empty depends on the language, for which the database may be asked
        "phrase": PHRASES.get(failure.status, HTTPStatus(failure.status).phrase),
        "words": [entry.title for entry in failure.entries],
        "failure": failure,
        "request_id": g.request_id,
    }
    response = make_response((rendered_alone if needs_nothing else rendered)(context), failure.status)
    response.headers.extend(failure.headers)
    response.headers["Cache-Control"] = "no-store"
    return response


def rendered(context: dict[str, Any]) -> str:
    return render_template("error.html", **context)


def rendered_alone(context: dict[str, Any]) -> str:
    """The page without `render_template`, whose context asks the database, which may be what failed."""
    locale.settle()
    return current_app.jinja_env.get_template("failure.html").render(context)
