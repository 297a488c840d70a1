"""The owner's dashboard: registers its pages on the blueprint and in the application."""

from __future__ import annotations

from flask import Flask

# each module adds its pages to a blueprint when it is imported
from app.dashboard import domains, home, members, pixels, projects, trash  # noqa: F401
from app.dashboard.account import api_keys, settings, two_factor  # noqa: F401
from app.dashboard.activity import views as activity  # noqa: F401
from app.dashboard.admin import audit_log, instance, invitations, users  # noqa: F401
from app.dashboard.auth import (  # noqa: F401
    access,
    login,
    oidc_login,
    passkey_login,
    password_reset,
    reauthentication,
)
from app.dashboard.handlers import deliveries, recipients  # noqa: F401
from app.dashboard.imports import views as imports  # noqa: F401
from app.dashboard.links import bulk, capture, history, qr, sample_data, saved_views, simulate  # noqa: F401
from app.dashboard.shared import assets, page_headers, rendering, workspace
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.statistics import shared, shares, views  # noqa: F401


def init_app(app: Flask) -> None:
    """Register the dashboard, the sign-in pages, the static files, and what every page needs."""
    for part in (assets, login, recipients, page_headers, rendering, access, instance, shared):
        part.init_app(app)
    app.register_blueprint(blueprint)
    workspace.init_app(app)
