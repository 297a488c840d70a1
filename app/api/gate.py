"""In what order is every request to the API looked at, before any resource sees it?

The contract's: 401, 404 (path), 405, 429, 403; then the resource's own: 415, 400, 413, 404, 422, 409.
"""

from __future__ import annotations

from flask import request

from app import bodies
from app.api import auth, rates
from app.api.openapi.views import PATH as OPEN
from app.headers import is_api


def check() -> None:
    """For the whole application, not the blueprint: a path that leads nowhere has no blueprint."""
    if not is_api(request.path):
        return
    if request.path.rstrip("/") == OPEN:
        rates.note(rates.rates().left(request.remote_addr or ""))
        return
    key = auth.require_key()
    auth.remember(key)
    count = rates.note(rates.rates().of_key(key.id))
    if request.routing_exception is not None:
        raise request.routing_exception
    if count:
        count.require_room()
    auth.require_scope()
    bodies.require_whole_request()
