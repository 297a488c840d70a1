"""The visitor's edge: which pages does Waypost itself show to people who open a link?"""

from __future__ import annotations

from flask import Flask

from app.extensions import csrf
from app.public import certificates, health, pages
from app.visits.desk import Desk


def init_app(app: Flask) -> None:
    """Bind the visitor's pages and the health of the instance to the application."""
    app.extensions["visits"] = Desk(app.config["WAYPOST"])
    app.url_map.converters["alias"] = pages.AliasConverter
    csrf.exempt(pages.blueprint)  # visitors' forms need no token: there is no session to abuse
    app.register_blueprint(pages.blueprint)
    app.register_blueprint(health.blueprint)
    app.register_blueprint(certificates.blueprint)
