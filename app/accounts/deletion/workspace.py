"""Deletes a workspace, and restores it within 30 days.

As with accounts (leaving.py) nothing is removed yet: the workspace's row is marked as deleted, and pages,
API, redirects and messages all check that mark. 30 days later `purging.py` removes the data.
"""

# see docs/decisions/2026-11-25-workspaces.md
from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import joinedload

from app.accounts import workspaces
from app.accounts.access import Access
from app.accounts.deletion.leaving import drop_plans, end_imports
from app.accounts.models import User, Workspace, WorkspaceInvitation, WorkspaceMember
from app.accounts.rights import OWNER
from app.accounts.standing import RETENTION
from app.audit.services import record
from app.core.clock import now
from app.core.errors import FieldError, NotFound, ResourceInUse
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.import_export.models import Archive, LinkImport
from app.notifications import system_email
from app.notifications.member_invitations import about_of
from app.notifications.outbox import end_pending

ONLY = _l("This is your only workspace. Create another one first, or delete your account.")


class OnlyWorkspace(ResourceInUse):
    """Whoever deletes the workspace would be left without one."""

    def __init__(self) -> None:
        super().__init__(FieldError(ONLY, "only_workspace"))


def delete_workspace(access: Access) -> Workspace:
    """Marks the workspace as deleted: no page, key, link or message of it works from now on.

    Members who have no other workspace get a new one. Raises NotFound where it is deleted already, and
    OnlyWorkspace. The caller has begun the write, and commits.
    """
    workspaces.hold(access.workspace_id)
    if len(workspaces.memberships(access.user)) == 1:
        raise OnlyWorkspace
    row = db.session.get_one(Workspace, access.workspace_id)
    row.deleted_datetime = now()
    record(db.session, "workspace.deleted", workspace_id=row.id, on=workspaces.object_of(row))
    db.session.flush()
    for member in workspaces.members(row.id):
        if not workspaces.memberships(member.user):
            workspaces.create_own(member.user)
    end_invitations(row.id)
    end_pending(db.session)
    end_imports(LinkImport.workspace_id == row.id)
    db.session.execute(delete(Archive).where(Archive.workspace_id == row.id))  # the sweep removes the files
    drop_plans()
    return row


def end_invitations(workspace_id: int) -> None:
    mine = select(WorkspaceInvitation).where(WorkspaceInvitation.workspace_id == workspace_id)
    for row in db.session.scalars(mine):
        system_email.withdraw(db.session, about_of(row))
        db.session.delete(row)
    db.session.flush()


def deleted_workspaces(user: User) -> Sequence[Workspace]:
    """The deleted workspaces that the user can restore, as an owner of them."""
    mine = WorkspaceMember.user_id == user.id, WorkspaceMember.role == OWNER
    rows = (
        select(WorkspaceMember)
        .join(Workspace)
        .where(*mine, Workspace.deleted_datetime > now() - RETENTION)
        .options(joinedload(WorkspaceMember.workspace))
        .order_by(WorkspaceMember.id)
    )
    return [one.workspace for one in db.session.scalars(rows)]


def gone_from(workspace: Workspace) -> dt.datetime | None:
    """When a deleted workspace is due to be purged."""
    return workspace.deleted_datetime and workspace.deleted_datetime + RETENTION


def restore_workspace(user: User, workspace_id: int) -> Workspace:
    """Restores it with all members, links and keys. Pending deliveries, imports and invitations stay ended.

    Raises NotFound for one that the user can't restore. The caller has begun the write, and commits.
    """
    row = next((one for one in deleted_workspaces(user) if one.id == workspace_id), None)
    if row is None:
        raise NotFound("workspace")
    row.deleted_datetime = None
    record(db.session, "workspace.restored", workspace_id=row.id, on=workspaces.object_of(row))
    db.session.flush()
    drop_plans()
    return row
