"""View of the OpenAPI document, which needs no key."""

from __future__ import annotations

from flask import Response

from app.api import envelope
from app.api.blueprint import blueprint
from app.openapi.document import document
from app.web import urls

PATH = "/api/openapi.json"


@blueprint.get("/openapi.json", endpoint="openapi", strict_slashes=False)
def read() -> Response:
    return envelope.json_response(document(urls.dashboard_site()))
