"""Refuses requests for hosts that `TRUSTED_HOSTS` does not name, where it is set."""

from __future__ import annotations

from flask import Flask, request
from werkzeug.exceptions import SecurityError

from app.config import Settings
from app.visits.hosts import is_trusted
from app.visits.paths import OPERATORS, first_segment


def init_app(app: Flask) -> None:
    """Check each request's host. Health checks may name any: they often come by an IP address."""
    settings: Settings = app.config["WAYPOST"]

    def refuse_untrusted_host() -> None:
        is_health = first_segment(request.path) in OPERATORS
        if not is_health and not is_trusted(request.host, settings.trusted_hosts):
            # as for a path that leads nowhere: no view is called, and the API answers in its own shape
            request.url_rule, request.routing_exception = None, SecurityError()

    if settings.trusted_hosts:
        app.before_request(refuse_untrusted_host)
