"""The JSON API under `/api/`: registers its routes, checks and headers."""

from __future__ import annotations

from flask import Flask

# each module adds its routes to the blueprint when it is imported
from app.api import (  # noqa: F401
    deliveries,
    gate,
    links,
    openapi,
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


def init_app(app: Flask) -> None:
    """Registers the routes, and the checks before and the headers after each request."""
    app.url_map.converters["row_id"] = IdConverter
    csrf.exempt(blueprint)  # another site can't make a browser send a key in a header
    app.register_blueprint(blueprint)
    app.before_request(gate.check)
    app.after_request(rate_limit.add_headers)
