"""The rate limits of this application, for whoever answers a request."""

from __future__ import annotations

from flask import Flask, current_app

from app.rate_limit.limiter import RateLimiter

EXTENSION = "rate_limiter"


def init_app(app: Flask) -> None:
    app.extensions[EXTENSION] = RateLimiter(app.config["WAYPOST"])


def rate_limiter() -> RateLimiter:
    found: RateLimiter = current_app.extensions[EXTENSION]
    return found
