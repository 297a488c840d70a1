"""The JSON edge: what is there under `/api/`, and how does it come into the application?"""

from __future__ import annotations

from flask import Blueprint, Flask

from app.api import deliveries, explain, gate, qr, rates, statistics, user
from app.api.domains import DOMAINS, verify
from app.api.links import LINKS
from app.api.notification_handlers import NOTIFICATION_HANDLERS
from app.api.openapi import views as openapi
from app.api.pixels import PIXELS
from app.api.projects import PROJECTS
from app.api.resource import IdConverter
from app.extensions import csrf

RESOURCES = (LINKS, PIXELS, NOTIFICATION_HANDLERS, PROJECTS, DOMAINS)
STATISTICS = (
    ("statistics", "/statistics", statistics.of_all),
    ("statistics_clicks", "/statistics/clicks", statistics.clicks_of_all),
    ("statistics_link", "/statistics/<row_id:id>", statistics.of_link),
    ("statistics_link_clicks", "/statistics/<row_id:id>/clicks", statistics.clicks_of_link),
)


def init_app(app: Flask) -> None:
    """Register the resources, and what comes before and after each of them."""
    blueprint = Blueprint("api", __name__, url_prefix="/api")
    app.url_map.converters["row_id"] = IdConverter
    for resource in RESOURCES:
        resource.register(blueprint)
    blueprint.add_url_rule("/links/<row_id:id>/explain", "links_explain", explain.read, strict_slashes=False)
    blueprint.add_url_rule("/links/<row_id:id>/qr", "links_qr", qr.read, strict_slashes=False)
    blueprint.add_url_rule(
        "/domains/<row_id:id>/verify", "domains_verify", verify, methods=["POST"], strict_slashes=False
    )
    for name, rule, view in STATISTICS:
        blueprint.add_url_rule(rule, name, view, strict_slashes=False)
    handler = "/notification-handlers/<row_id:id>"
    for path, view, method in (
        ("deliveries", deliveries.find, "GET"),
        ("test", deliveries.test, "POST"),
        ("secret", deliveries.renew_secret, "POST"),
        ("confirmation", deliveries.ask_for_confirmation, "POST"),
    ):
        name = f"notification-handlers_{path}"
        blueprint.add_url_rule(f"{handler}/{path}", name, view, methods=[method], strict_slashes=False)
    blueprint.add_url_rule("/openapi.json", "openapi", openapi.read, strict_slashes=False)
    blueprint.add_url_rule("/user", "user", user.read, strict_slashes=False)
    csrf.exempt(blueprint)  # a key in a header is nothing that another site can make a browser send
    app.register_blueprint(blueprint)
    rates.init_app(app)
    app.before_request(gate.check)
    app.after_request(rates.add_headers)
