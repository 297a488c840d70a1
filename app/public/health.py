"""Health endpoints: whether the process answers, whether the instance is ready, and its metrics."""

from __future__ import annotations

import hmac

from flask import Blueprint, Flask, Response, current_app, jsonify, request

from app.operations import health
from app.operations.exposition import CONTENT_TYPE
from app.operations.health import BoundedChecks, Found, Group
from app.operations.metrics import render_metrics
from app.web.application import settings

blueprint = Blueprint("health", __name__)


CHECKS = "health_checks"


def init_app(app: Flask) -> None:
    """Register the endpoints, and the checks that `/readyz` runs."""
    app.extensions[CHECKS] = BoundedChecks({name: group_of(app, name) for name in health.GROUPS})
    app.register_blueprint(blueprint)


def group_of(app: Flask, name: str) -> Group:
    def run(found: Found) -> None:
        with app.app_context():
            health.run_group(health.GROUPS[name], found)

    return run


@blueprint.get("/healthz")
def healthz() -> Response:
    """Reports that this process answers. It checks nothing else."""
    return no_store(jsonify(status="ok"))


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Reports on each part that the instance needs, with what is wrong. 503 when one of them fails.

    It answers within two seconds: a check that has no result by then fails.
    """
    runs: BoundedChecks = current_app.extensions[CHECKS]
    found = runs.results()
    checks = {name: found.get(name, health.UNANSWERED) for name in health.CHECKS}
    is_ready = all(check["ok"] for check in checks.values())
    body = jsonify(status="ready" if is_ready else "not ready", checks=checks)
    return no_store(body), 200 if is_ready else 503


@blueprint.get("/metrics")
def metrics() -> Response:
    """Metrics for Prometheus. 404 unless METRICS_TOKEN is set, 401 for requests without it."""
    token = settings().metrics_token
    if token is None:
        return no_store(Response(status=404))
    sent = request.headers.get("Authorization", "")
    if not hmac.compare_digest(sent.encode(), f"Bearer {token}".encode()):
        return no_store(Response(status=401, headers={"WWW-Authenticate": "Bearer"}))
    return no_store(Response(render_metrics(settings()), content_type=CONTENT_TYPE))


def no_store(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
