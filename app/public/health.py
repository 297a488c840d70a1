"""Health endpoints: whether the process answers, whether the instance is ready, and its metrics."""

from __future__ import annotations

import hmac

from flask import Blueprint, Response, jsonify, request

from app.operations import health
from app.operations.metrics import render_metrics
from app.web.application import settings

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def healthz() -> Response:
    """Reports that this process answers. It checks nothing else."""
    return no_store(jsonify(status="ok"))


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Reports on each part that the instance needs, with what is wrong. 503 when one of them fails."""
    checks = {name: health.run_check(name) for name in health.CHECKS}
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
    return no_store(
        Response(render_metrics(settings()), content_type="text/plain; version=0.0.4; charset=utf-8")
    )


def no_store(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
