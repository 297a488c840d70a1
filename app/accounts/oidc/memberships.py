"""Memberships of workspaces that follow from the provider's roles."""

# see docs/decisions/2026-11-25-single-sign-on.md
from __future__ import annotations

import logging
from collections.abc import Callable

from sqlalchemy import select

from app.accounts import workspaces
from app.accounts.models import User, Workspace, WorkspaceMember
from app.accounts.oidc.roles import RoleChanges
from app.core.errors import NotFound
from app.core.extensions import db

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
