"""Pages that Waypost shows to visitors, and the health endpoints of the instance."""

from __future__ import annotations

from flask import Flask

from app.core.extensions import csrf
from app.public import certificates, health, pages
from app.redirects.context import RedirectContext
from app.web.application import REDIRECTS


def init_app(app: Flask) -> None:
    """Register the visitors' pages, the health checks and the certificate endpoint with the application."""
    app.extensions[REDIRECTS] = RedirectContext(app.config["WAYPOST"])
    app.url_map.converters["alias"] = pages.AliasConverter
    csrf.exempt(pages.blueprint)  # visitors' forms need no token: there is no session to abuse
    app.register_blueprint(pages.blueprint)
    health.init_app(app)
    app.register_blueprint(certificates.blueprint)
