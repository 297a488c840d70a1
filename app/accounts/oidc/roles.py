"""Roles in workspaces that follow from the provider's claims, and the memberships that these make."""

# see docs/decisions/2026-11-25-single-sign-on.md
from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import select

from app.accounts import workspaces
from app.accounts.models import User, Workspace, WorkspaceMember
from app.core.errors import NotFound
from app.core.extensions import db
from app.core.oidc_settings import ROLES, RoleRule

Roles = Mapping[int, str]  # by the id of a workspace


class RoleChanges(NamedTuple):
    """What a sign-in changes: the roles to have, and the workspaces in which the provider's role is over."""

    granted: Roles
    ended: frozenset[int]


NO_CHANGES = RoleChanges({}, frozenset())


def wanted_roles(rules: Iterable[RoleRule], claims: Mapping[str, Any]) -> dict[int, str]:
    """The role in each workspace that the rules give for these claims; the highest where several do."""
    found: dict[int, str] = {}
    for rule in rules:
        if rule.value in texts_of(find_claim(claims, rule.claim)):
            held = found.get(rule.workspace_id, ROLES[0])
            found[rule.workspace_id] = max(held, rule.role, key=ROLES.index)
    return found


def role_changes(before: Roles, wanted: Roles) -> RoleChanges:
    """What is to be done. A role that the claims no longer give ends; one given by a person is not named."""
    return RoleChanges(dict(wanted), frozenset(before) - frozenset(wanted))


def are_complete(rules: Iterable[RoleRule], claims: Mapping[str, Any]) -> bool:
    """Whether the claims tell all. Where there are too many groups, a provider names another place for them
    (`_claim_names`, OpenID Connect Core 5.6.2), and their absence means nothing."""
    elsewhere = claims.get("_claim_names")
    return not isinstance(elsewhere, dict) or not any(rule.claim.split(".")[0] in elsewhere for rule in rules)


def find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or by a path such as `realm_access.roles`. Names of claims may have dots."""
    if name in claims:
        return claims[name]
    first, dot, rest = name.partition(".")
    inner = claims.get(first)
    return find_claim(inner, rest) if dot and isinstance(inner, dict) else None


def texts_of(value: Any) -> frozenset[str]:
    """The values of a claim as texts: of a list all, `true` for a truth."""
    members = value if isinstance(value, list) else [value]
    words = {True: "true", False: "false"}
    return frozenset(
        words[one] if isinstance(one, bool) else str(one) for one in members if isinstance(one, str | int)
    )


Remove = Callable[[WorkspaceMember], None]
Change = Callable[[WorkspaceMember, str], None]

log = logging.getLogger(__name__)


def apply_roles(
    user: User,
    changes: RoleChanges,
    remove: Remove,
    change: Change,
) -> None:
    """Synchronises memberships with the provider's roles, by `remove` and `change`.

    The caller has begun the write, and commits.
    A workspace that is gone is left out, and so is a change that would leave one without an owner: the
    sign-in goes on, and the log says what was not done.
    """
    for workspace_id in sorted({*changes.granted, *changes.ended}):
        try:
            with db.session.begin_nested():
                apply_role(user, workspace_id, changes.granted.get(workspace_id), remove, change)
        except (workspaces.LastOwner, NotFound) as error:
            reason = type(error).__name__
            log.warning("the provider's role in workspace %d is not applied: %s", workspace_id, reason)


def apply_role(
    user: User,
    workspace_id: int,
    role: str | None,
    remove: Remove,
    change: Change,
) -> None:
    """Gives the user this role there; None takes the membership away. Raises NotFound and LastOwner."""
    workspaces.hold(workspace_id)
    mine = WorkspaceMember.workspace_id == workspace_id, WorkspaceMember.user_id == user.id
    member = db.session.scalar(select(WorkspaceMember).where(*mine))
    if role is None:
        if member is not None:
            remove(member)
    elif member is not None:
        change(member, role)
    else:
        workspaces.add_member(db.session.get_one(Workspace, workspace_id), user, role)
