"""Workspaces and their members: creation, roles, and which workspace a user's request is about.

Each user is a member of at least one workspace: one is made with the account, and another where a user would
be left without any. Each workspace keeps an owner.
"""

# see docs/decisions/2026-11-25-workspaces.md
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import and_, case, exists, select, update
from sqlalchemy.orm import joinedload

from app.accounts.access import OWNER, ROLES, Access
from app.accounts.models import User, Workspace, WorkspaceInvitation, WorkspaceMember
from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import AnySession, reread
from app.core.errors import FieldError, NotFound, ResourceInUse
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import Listing, one_of

LAST_OWNER = _l("A workspace needs an owner. Make another member owner first.")
IS_HERE = Workspace.deleted_datetime.is_(None)


class LastOwner(ResourceInUse):
    """The workspace would be left without an owner."""

    def __init__(self) -> None:
        super().__init__(FieldError(LAST_OWNER, "last_owner", "role"))


def create(user: User, name: str) -> Workspace:
    """Creates a workspace that this user owns."""
    workspace = Workspace(name=name)
    db.session.add(workspace)
    db.session.flush()
    db.session.add(WorkspaceMember(workspace_id=workspace.id, user_id=user.id, role=OWNER))
    db.session.flush()
    return workspace


def note_created(workspace: Workspace) -> None:
    record(db.session, "workspace.created", workspace_id=workspace.id, on=object_of(workspace))


def create_own(user: User) -> Workspace:
    """Creates the workspace that a user has alone."""
    return create(user, user.name or user.email[:128])


def update_workspace(workspace: Workspace, changes: dict[str, Any]) -> Workspace:
    """Changes the name. Raises NotFound when it is gone."""
    reread(db.session, workspace)
    if not changes:
        return workspace
    changed: dict[str, Any] = {
        name: [old, new] for name, new in changes.items() if (old := getattr(workspace, name)) != new
    }
    if changed:
        record(db.session, "workspace.renamed", workspace_id=workspace.id, on=object_of(workspace), **changed)
    for name, value in changes.items():
        setattr(workspace, name, value)
    workspace.last_datetime = now()
    db.session.flush()
    return workspace


def object_of(workspace: Workspace) -> Object:
    return Object("workspace", workspace.id, workspace.name)


# --- whose request is about which


def memberships(user: User, session: AnySession = db.session) -> Sequence[WorkspaceMember]:
    """The user's workspaces, each with the role in it: the one of their own first."""
    mine = select(WorkspaceMember).join(Workspace).where(WorkspaceMember.user_id == user.id, IS_HERE)
    rows = mine.options(joinedload(WorkspaceMember.workspace)).order_by(WorkspaceMember.id)
    return session.scalars(rows).all()


def access_of(user: User, session: AnySession = db.session) -> Access:
    """The user's access to the workspace of their own; of a deleted account, to what it had."""
    mine = select(WorkspaceMember.workspace_id, WorkspaceMember.role).join(Workspace)
    own = mine.where(WorkspaceMember.user_id == user.id).order_by(~IS_HERE, WorkspaceMember.id).limit(1)
    workspace_id, role = session.execute(own).one()
    return Access(user, workspace_id, role)


# --- members


def members(workspace_id: int) -> Sequence[WorkspaceMember]:
    """The members with accounts that are not deleted, in the order in which they came."""
    there = select(WorkspaceMember).join(User).where(WorkspaceMember.workspace_id == workspace_id)
    rows = there.where(User.deleted_datetime.is_(None)).options(joinedload(WorkspaceMember.user))
    return db.session.scalars(rows.order_by(WorkspaceMember.id)).all()


def get_member(workspace_id: int, id: int) -> WorkspaceMember:
    """One member of the workspace. Raises NotFound."""
    found = next((one for one in members(workspace_id) if one.id == id), None)
    if found is None:
        raise NotFound("member")
    return found


def add_member(workspace: Workspace, user: User, role: str) -> WorkspaceMember:
    """Adds the user, who is no member yet."""
    member = WorkspaceMember(workspace_id=workspace.id, user_id=user.id, role=role)
    db.session.add(member)
    db.session.flush()
    record(
        db.session,
        "member.joined",
        account=user,
        workspace_id=workspace.id,
        on=object_of(workspace),
        role=role,
    )
    return member


def note(member: WorkspaceMember, action: str, **changes: Any) -> None:
    on = object_of(member.workspace)
    record(db.session, action, account=member.user, workspace_id=member.workspace_id, on=on, **changes)


def change_role(member: WorkspaceMember, role: str) -> None:
    """Gives the member another role, from the next request on. Raises LastOwner."""
    hold(member.workspace_id)
    reread(db.session, member)
    if member.role == role:
        return
    if member.role == OWNER:
        require_another_owner(member)
    note(member, "member.role_changed", role=[member.role, role])
    member.role = role
    db.session.flush()


def remove_member(member: WorkspaceMember) -> None:
    """Ends a membership; what the member made stays. Raises LastOwner.

    Whoever has no other workspace gets a new one, so that the account goes on to work.
    """
    hold(member.workspace_id)
    reread(db.session, member)
    if member.role == OWNER:
        require_another_owner(member)
    user = member.user
    note(member, "member.removed", role=member.role)
    db.session.delete(member)
    db.session.flush()
    if not memberships(user):
        create_own(user)


def hold(workspace_id: int) -> None:
    """Locks the workspace: no other transaction changes its members until this one ends. Raises NotFound."""
    locked = select(Workspace.id).where(Workspace.id == workspace_id, IS_HERE).with_for_update()
    if db.session.scalar(locked) is None:
        raise NotFound("workspace")


def require_another_owner(member: WorkspaceMember) -> None:
    if not any(one.role == OWNER and one.id != member.id for one in members(member.workspace_id)):
        raise LastOwner


# --- with the account


def leave_all(user: User) -> Sequence[WorkspaceMember]:
    """Marks the workspaces that a deleted account had alone, with the time of its own deletion.

    In shared ones, whose memberships it returns, the user's rows stay. Raises LastOwner where others would be
    left without an owner.
    """
    shared = []
    for member in memberships(user):
        hold(member.workspace_id)
        if any(one.user_id != user.id for one in members(member.workspace_id)):
            if member.role == OWNER:
                require_another_owner(member)
            shared.append(member)
        else:
            member.workspace.deleted_datetime = user.deleted_datetime
    db.session.flush()
    return shared


def restore_all(user: User) -> None:
    """Brings back the workspaces that went with the account, and not one that was deleted by itself.

    Whoever is left without any gets a new one.
    """
    mine = select(WorkspaceMember.workspace_id).where(WorkspaceMember.user_id == user.id)
    went_along = Workspace.id.in_(mine), Workspace.deleted_datetime == user.deleted_datetime
    restored = update(Workspace).where(*went_along).values(deleted_datetime=None)
    db.session.execute(restored, execution_options={"synchronize_session": False})
    if not memberships(user):
        create_own(user)


def heir_of(session: AnySession, workspace_id: int, user_id: int) -> int | None:
    """The user to whom a purged member's rows pass: an owner if there is one, the oldest first."""
    others = WorkspaceMember.workspace_id == workspace_id, WorkspaceMember.user_id != user_id
    turn = case((WorkspaceMember.role == OWNER, 0), else_=1), WorkspaceMember.id
    return session.scalar(select(WorkspaceMember.user_id).where(*others).order_by(*turn).limit(1))


ROLE = one_of(list(ROLES))
INVITATIONS = Listing(
    model=WorkspaceInvitation,
    filters={"role": lambda text, params: WorkspaceInvitation.role == ROLE(text)},  # noqa: ARG005
    orders={"invitation_id": WorkspaceInvitation.id, "datetime": WorkspaceInvitation.datetime},
)


def members_of(workspace_id: int) -> Listing[WorkspaceMember]:
    """Members whose accounts are not deleted."""
    is_here = exists().where(User.id == WorkspaceMember.user_id, User.deleted_datetime.is_(None))
    return Listing(
        model=WorkspaceMember,
        filters={"role": lambda text, params: WorkspaceMember.role == ROLE(text)},  # noqa: ARG005
        orders={"member_id": WorkspaceMember.id, "datetime": WorkspaceMember.datetime},
        mine=and_(WorkspaceMember.workspace_id == workspace_id, is_here),
    )
