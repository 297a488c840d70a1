"""Whose key did this request bring, and what may it do?"""

from __future__ import annotations

from flask import g, request

from app import sign_in_failures
from app.accounts.keys import find_key
from app.accounts.models import ApiKey, User
from app.acting import Actor, act_as
from app.api.rates import note, rates
from app.errors import FieldError, Forbidden, NoKey

SAFE = frozenset({"GET", "HEAD"})


def require_key() -> ApiKey:
    """The key in `Authorization: Bearer`. Raises NoKey, or TooMany after many wrong ones from an address."""
    address = request.remote_addr or ""
    text = bearer(request.headers.get("Authorization", ""))
    if text is None:
        note(rates().left(address))
        raise NoKey(FieldError("Send an API key: `Authorization: Bearer <key>`.", "key_missing"))
    key = find_key(text)
    if key is None:
        sign_in_failures.note_key()
        count = rates().of_wrong_key(address)
        note(count)
        count.require_room()
        raise NoKey(FieldError("This API key is unknown, revoked or expired.", "key_invalid"))
    return key


def bearer(header: str) -> str | None:
    """The key of an `Authorization` header, its scheme in any case."""
    scheme, _, text = header.partition(" ")
    text = text.strip(" ")
    return text if text and scheme.lower() == "bearer" else None


def remember(key: ApiKey) -> None:
    """Keep who asks for as long as the request."""
    g.user, g.scope, g.log_user = key.user, key.scope, key.user_id
    act_as(Actor("api", key.name, key.user_id, key.user.email, key.prefix))


def caller() -> User:
    """Whose request this is."""
    found: User = g.user
    return found


def may_write() -> bool:
    return bool(g.scope == "write")


def require_scope() -> None:
    if request.method not in SAFE and not may_write():
        raise Forbidden(FieldError("This API key can only read.", "read_only_key"))
