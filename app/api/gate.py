"""Checks of every API request before any resource handles it, in the contract's order.

The order of errors: 401, 404 (path), 405, 429, 403; then the resource's own: 415, 400, 413, 404, 412, 422,
409.
"""

from __future__ import annotations

from flask import request

from app.api import auth, rate_limit
from app.api.openapi import PATH as OPEN
from app.web import body as web_body
from app.web.security_headers import is_api


def check() -> None:
    """Checks a request. Registered for the whole application, since an unknown path has no blueprint."""
    if not is_api(request.path):
        return
    if request.path.rstrip("/") == OPEN:
        rate_limit.report(rate_limit.find_quota(request.remote_addr or ""))
        return
    key = auth.require_key()
    auth.remember(key)
    quota = rate_limit.report(rate_limit.count_request(key.id))
    if request.routing_exception is not None:
        raise request.routing_exception
    if quota:
        quota.require_room()
    auth.require_right()
    web_body.require_whole_request()
