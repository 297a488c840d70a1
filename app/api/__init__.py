"""The JSON API under `/api/`: registers its routes, its checks in the contract's order, and its headers.

The order of errors: 401, 404 (path), 405, 429, 403; then the resource's own: 415, 400, 413, 404, 412, 422,
409.
"""

from __future__ import annotations

from flask import Flask, Response, request

# each module adds its routes to the blueprint when it is imported
from app.api import (  # noqa: F401
    auth,
    deliveries,
    envelope,
    links,
    rate_limit,
    resources,
    statistics,
    subscriptions,
    trash,
    workspace,
)
from app.api.blueprint import blueprint
from app.api.resource import IdConverter
from app.core.extensions import csrf
from app.openapi.document import document
from app.web import body as web_body
from app.web import urls
from app.web.security_headers import is_api

DOCUMENT = "/api/openapi.json"


def init_app(app: Flask) -> None:
    """Registers the routes, and the checks before and the headers after each request."""
    app.url_map.converters["row_id"] = IdConverter
    csrf.exempt(blueprint)  # another site can't make a browser send a key in a header
    app.register_blueprint(blueprint)
    app.before_request(check)
    app.after_request(rate_limit.add_headers)


@blueprint.get("/openapi.json", endpoint="openapi", strict_slashes=False)
def show_document() -> Response:
    """The OpenAPI document, which needs no key."""
    return envelope.json_response(document(urls.dashboard_site()))


def check() -> None:
    """Checks a request. Registered for the whole application, since an unknown path has no blueprint."""
    if not is_api(request.path):
        return
    if request.path.rstrip("/") == DOCUMENT:
        rate_limit.report(rate_limit.find_quota(request.remote_addr or ""))
        return
    key = auth.require_key()
    auth.remember(key)
    quota = rate_limit.report(rate_limit.count_request(key.id))
    if request.routing_exception is not None:
        raise request.routing_exception
    if quota:
        quota.require_room()
    auth.require_right()
    web_body.require_whole_request()
