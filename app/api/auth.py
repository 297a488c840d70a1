"""Authenticates API requests by key, and checks the key's scope."""

from __future__ import annotations

from flask import g, request

from app.accounts import sign_in_failures
from app.accounts.keys import find_key
from app.accounts.models import ApiKey, User
from app.api import rate_limit
from app.core.actor import Actor, act_as
from app.core.errors import FieldError, Forbidden, Unauthorized

SAFE = frozenset({"GET", "HEAD"})


def require_key() -> ApiKey:
    """The key in `Authorization: Bearer`.

    Raises Unauthorized, or RateLimited after many wrong keys from one address.
    """
    address = request.remote_addr or ""
    text = parse_bearer_token(request.headers.get("Authorization", ""))
    if text is None:
        rate_limit.report(rate_limit.find_quota(address))
        raise Unauthorized(FieldError("Send an API key: `Authorization: Bearer <key>`.", "key_missing"))
    key = find_key(text)
    if key is None:
        sign_in_failures.note_key()
        quota = rate_limit.count_wrong_key(address)
        rate_limit.report(quota)
        quota.require_room()
        raise Unauthorized(FieldError("This API key is unknown, revoked or expired.", "key_invalid"))
    return key


def parse_bearer_token(header: str) -> str | None:
    """The key of an `Authorization` header, its scheme in any case."""
    scheme, _, text = header.partition(" ")
    text = text.strip(" ")
    return text if text and scheme.lower() == "bearer" else None


def remember(key: ApiKey) -> None:
    """Stores user and scope of the key for the duration of the request."""
    g.user, g.scope, g.log_user = key.user, key.scope, key.user_id
    act_as(Actor("api", key.name, key.user_id, key.user.email, key.prefix))


def authenticated_user() -> User:
    """The user whose key this request has."""
    found: User = g.user
    return found


def may_write() -> bool:
    return bool(g.scope == "write")


def require_scope() -> None:
    if request.method not in SAFE and not may_write():
        raise Forbidden(FieldError("This API key can only read.", "read_only_key"))
