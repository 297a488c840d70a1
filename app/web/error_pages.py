"""What does a caller get when something goes wrong: a page, or the API's JSON?"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Flask, Response, current_app, g, make_response, render_template, request
from werkzeug.exceptions import HTTPException, SecurityError
from werkzeug.wrappers import Response as AnyResponse

from app import headers, languages, logs
from app.api.errors import problem
from app.errors import Waiting
from app.failures import Failure, failure_of


def init_app(app: Flask) -> None:
    app.register_error_handler(Exception, answer)


def answer(error: Exception) -> Response | AnyResponse | HTTPException:
    return error if isinstance(error, HTTPException) and is_answer(error) else told(error)


def told(error: Exception) -> Response:
    """What went wrong, in the form of the edge that was asked; a failure of ours is logged too."""
    failure = failure_of(error)
    if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, Waiting):
        logs.log.error("failed", exc_info=error, status=failure.status)
    # for a host that is not ours nothing has an address, so a page can't name its own files
    needs_nothing = failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR or isinstance(error, SecurityError)
    return problem(failure) if headers.is_api(request.path) else page(failure, needs_nothing=needs_nothing)


def is_answer(error: HTTPException) -> bool:
    """`abort(response)` and redirects of routing: not a failure at all."""
    return error.response is not None or (error.code or 500) < HTTPStatus.BAD_REQUEST


def page(failure: Failure, *, needs_nothing: bool) -> Response:
    context = {
        "phrase": HTTPStatus(failure.status).phrase,
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
    """Not by `render_template`: what that adds to every page asks the database, which may be what failed."""
    languages.settle()
    return current_app.jinja_env.get_template("failure.html").render(context)
