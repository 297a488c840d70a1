"""Deletes an account or a workspace, and restores it within 30 days; ends memberships.

Nothing is removed yet: the row is marked as deleted, and sign-in, pages, API, redirects and messages all
check that mark. 30 days later `purging.py` removes the data. Handlers, subscriptions and share addresses of
former members are switched off.
"""

# see docs/decisions/2026-11-25-workspaces.md
from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, insert, select, update
from sqlalchemy.orm import joinedload

from app.accounts import standing, workspaces
from app.accounts.access import OWNER, Access
from app.accounts.models import User, Workspace, WorkspaceInvitation, WorkspaceMember
from app.accounts.standing import RETENTION
from app.analytics.sharing import services as shares
from app.analytics.sharing.models import StatisticsShare
from app.audit.services import record
from app.core.clock import now
from app.core.errors import FieldError, Invalid, NotFound, ResourceInUse
from app.core.extensions import db
from app.events.push import handlers
from app.events.subscriptions.ending import end_of_user, end_over
from app.i18n.messages import lazy_gettext as _l
from app.import_export.models import UNFINISHED, Archive, LinkImport
from app.links.models import PlanChange
from app.notifications import system_email
from app.notifications.member_invitations import about_of
from app.notifications.models import NotificationHandler, SystemEmail
from app.notifications.outbox import end_pending
from app.notifications.subscribed import is_subscription

LAST = _l("You are the last admin, and others use this instance. Make one of them admin first.")


def leave(user: User) -> None:
    """Marks the user as deleted: no session, key, link or message works from now on.

    Workspaces that the user had alone go with the account, shared ones stay. Raises Invalid for the last
    admin, unless there is no other account, and LastOwner for the last owner of a shared workspace.
    """
    standing.hold(user)
    if user.deleted_datetime is not None:
        return
    if user.is_admin and standing.has_company(user):
        require_successor(user)
    user.deleted_datetime = now()
    for member in workspaces.leave_all(user):
        end_of_user(db.session, member.workspace_id, user.id)
    record(db.session, "user.deleted", account=user)
    standing.end_sessions(user)
    end_pending(db.session)
    end_imports(LinkImport.user_id == user.id)
    for model in (SystemEmail, Archive):  # an archive's file is removed by the sweep
        db.session.execute(delete(model).where(model.user_id == user.id))
    drop_plans()


def require_successor(user: User) -> None:
    try:
        standing.require_another_admin(user)
    except standing.LastAdmin:
        raise Invalid(FieldError(LAST, "last_admin")) from None


def come_back(user: User) -> None:
    """Restores the account with all links and keys. Pending deliveries and imports stay ended.

    Raises NotFound when the 30 days are over.
    """
    standing.hold(user)
    if user.deleted_datetime is not None:
        record(db.session, "user.restored", account=user)
        workspaces.restore_all(user)
    user.deleted_datetime = None
    db.session.flush()
    drop_plans()


def end_imports(mine: ColumnElement[bool]) -> None:
    """Ends these imports. A process that runs one sees that at its next step, and stops."""
    ended = update(LinkImport).where(mine, LinkImport.state.in_(UNFINISHED)).values(state="ended")
    db.session.execute(ended, execution_options={"synchronize_session": False})


def drop_plans() -> None:
    """Drops all compiled links in every process: one row for each of the links could be too many."""
    db.session.execute(insert(PlanChange.__table__), [{"domain_id": None, "alias": None}])


HANDLERS, SUBSCRIPTIONS, SHARES = "handlers", "subscriptions", "shares"


def outgoing(workspace_id: int, user_id: int) -> Mapping[str, Sequence[Any]]:
    """A user's rows in a workspace that send or show data outside of it, by kind. Omits empty kinds."""
    handler, share = NotificationHandler, StatisticsShare
    mine = handler.workspace_id == workspace_id, handler.user_id == user_id
    of_shares = share.workspace_id == workspace_id, share.user_id == user_id, shares.is_usable()
    wanted: Mapping[str, Select[Any]] = {
        HANDLERS: select(handler).where(*mine, handler.is_enabled, ~is_subscription()),
        SUBSCRIPTIONS: select(handler).where(*mine, is_subscription()),
        SHARES: select(share).where(*of_shares),
    }
    found = {kind: db.session.scalars(rows).all() for kind, rows in wanted.items()}
    return {kind: rows for kind, rows in found.items() if rows}


def remove_member(member: WorkspaceMember, kept: Collection[str] = (), heir: User | None = None) -> None:
    """End a membership and switch off the member's outgoing rows, except the kinds in `kept`.

    `heir` takes over kept subscriptions, because the member's key ends. Raises LastOwner. The caller has
    begun the write, and commits.
    """
    workspace_id, user_id = member.workspace_id, member.user_id
    workspaces.remove_member(member)
    found = outgoing(workspace_id, user_id)
    for row in found.get(HANDLERS, ()) if HANDLERS not in kept else ():
        handlers.update(row, {"is_enabled": False})
    for row in found.get(SHARES, ()) if SHARES not in kept else ():
        shares.revoke(row)
    if SUBSCRIPTIONS in kept and heir is not None:
        for row in found.get(SUBSCRIPTIONS, ()):
            row.user_id, row.api_key_id = heir.id, None
        db.session.flush()
    else:
        end_of_user(db.session, workspace_id, user_id)


def change_role(member: WorkspaceMember, role: str) -> None:
    """Give a member another role, and end subscriptions that the role does not allow. Raises LastOwner."""
    workspaces.change_role(member, role)
    end_over(db.session)


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
