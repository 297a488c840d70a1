"""Authenticates API requests by key, and checks the key's scope."""

from __future__ import annotations

from flask import g, request

from app.accounts import access, sign_in_failures
from app.accounts.access import VIEWER, Access
from app.accounts.keys import find_key
from app.accounts.models import ApiKey, User
from app.api import rate_limit
from app.core.actor import Actor, act_as
from app.core.errors import FieldError, Forbidden, Unauthorized

SAFE = frozenset({"GET", "HEAD"})
# the right that a write of a resource needs, where it is not "write"
ACTIONS = {
    "domains": "write_domains",
    "workspace": "write_workspace",
    "workspace-members": "write_workspace",
    "workspace-invitations": "write_workspace",
}
# resources whose writes also need the permission `members`
OF_MEMBERS = frozenset({"workspace-members", "workspace-invitations"})
# all that a key of the scope "create" may be used for: see docs/decisions/2026-11-25-clients.md
CREATES = frozenset({"api.links_post"})


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
    """Stores for this request what the key may do: the lesser of its scope and its user's role."""
    role = VIEWER if key.scope == "read" else key.role
    g.key, g.access, g.log_user = key, Access(key.user, key.workspace_id, role), key.user_id
    actor = Actor("api", key.name, key.user_id, key.user.email, key.prefix)
    act_as(actor._replace(workspace_id=key.workspace_id))


def authenticated_user() -> User:
    """The user whose key this request has."""
    return request_access().user


def request_access() -> Access:
    """The user of the key, its workspace, and the role in which this request acts there."""
    found: Access = g.access
    return found


def request_key() -> ApiKey:
    found: ApiKey = g.key
    return found


def may(action: str) -> bool:
    return access.may(request_access(), action)


def require_right() -> None:
    """Raises Forbidden for what the key's scope does not cover, and for what the role may not do."""
    scope = request_key().scope
    if scope == "create" and request.endpoint not in CREATES:
        raise Forbidden(FieldError("This API key can only create links.", "create_only_key"))
    if request.method in SAFE:
        return
    if scope == "read":
        raise Forbidden(FieldError("This API key can only read.", "read_only_key"))
    resource = resource_of(request.endpoint)
    access.require(request_access(), ACTIONS.get(resource, "write"))
    if resource in OF_MEMBERS and not request_key().changes_members:
        text = "This API key lacks the permission `members`: it can't invite, change or remove members."
        raise Forbidden(FieldError(text, "members_permission"))


def resource_of(endpoint: str | None) -> str:
    """`domains` for the endpoint `api.domains_verify`."""
    return (endpoint or "").removeprefix("api.").partition("_")[0]
