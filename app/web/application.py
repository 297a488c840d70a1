"""What the current application holds, for the layers that know no Flask."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flask import Flask, current_app, request

from app.audit.failures import FailureLog
from app.core.config import Settings
from app.core.extensions import db
from app.core.secret_keys.ring import flask_settings

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


from app.rate_limit.limiter import RateLimiter

FAILURE_LOG, REDIRECTS, RATE_LIMITER = "audit_failures", "redirects", "rate_limiter"


class Application(Flask):
    """Flask, whose functions are never `async`: it asks that of each of some ten functions a request."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func


def init_app(app: Flask) -> None:
    app.extensions[RATE_LIMITER] = RateLimiter(app.config["WAYPOST"])
    with app.app_context():
        app.extensions[FAILURE_LOG] = FailureLog(db.engine)


def settings() -> Settings:
    found: Settings = current_app.config["WAYPOST"]
    return found


def use_settings(settings: Settings) -> None:
    """Replaces the settings, after the secret keys have changed."""
    current_app.config["WAYPOST"] = settings
    current_app.config.update(flask_settings())


def failure_log() -> FailureLog:
    """The log of failed sign-ins."""
    found: FailureLog = current_app.extensions[FAILURE_LOG]
    return found


def redirect_context() -> Any:
    """The `RedirectContext` of this application, which a layer above this one defines."""
    return current_app.extensions[REDIRECTS]


def environ() -> WSGIEnvironment:
    """The WSGI environment of the current request."""
    return request.environ


def rate_limiter() -> RateLimiter:
    found: RateLimiter = current_app.extensions[RATE_LIMITER]
    return found
