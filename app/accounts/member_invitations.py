"""Invitations into a workspace: for one address, whose verified owner accepts, once, within seven days."""

# see docs/decisions/2026-11-25-workspaces.md
from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from collections.abc import Sequence
from math import ceil
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select

from app.accounts import workspaces
from app.accounts.access import OWNER, Access
from app.accounts.models import User, Workspace, WorkspaceInvitation, WorkspaceMember
from app.accounts.workspaces import object_of
from app.audit.services import record
from app.core.clock import now
from app.core.errors import FieldError, Forbidden, Invalid, NotFound, RateLimited
from app.core.extensions import db
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.rate_limit.limiter import at_most
from app.web.application import rate_limiter

GOOD_FOR = dt.timedelta(days=7)
MAX_OPEN = 100  # of a workspace
BY_USER = at_most(20, minutes=24 * 60, name="invitations")  # into all workspaces together


def invite(access: Access, email: str, role: str) -> tuple[WorkspaceInvitation, str]:
    """Creates an invitation, in place of an earlier one of the address. Does not commit.

    Its token is returned only here, since it is not stored. Raises Invalid where too many are open, and
    RateLimited: each invitation may send a mail to somebody who never asked for one.
    """
    workspaces.hold(access.workspace_id)
    earlier = WorkspaceInvitation.workspace_id == access.workspace_id, WorkspaceInvitation.email == email
    db.session.execute(delete(WorkspaceInvitation).where(*earlier))
    # expired ones of any workspace go with it: nothing else needs to tidy up
    db.session.execute(delete(WorkspaceInvitation).where(WorkspaceInvitation.expires_datetime <= now()))
    count = db.session.scalar(select(func.count()).select_from(WorkspaceInvitation).where(*open_in(access)))
    if (count or 0) >= MAX_OPEN:
        text = _l("There may be at most %(most)s open invitations.", most=lazy_digits(MAX_OPEN))
        raise Invalid(FieldError(text, "too_many", "email"))
    count_invitation(access.user)
    token = secrets.token_urlsafe(32)
    row = WorkspaceInvitation(**access.row_columns, digest=digest(token), email=email, role=role)
    row.expires_datetime = now() + GOOD_FOR
    db.session.add(row)
    db.session.flush()
    record(
        db.session,
        "member.invited",
        workspace_id=row.workspace_id,
        on=object_of(row.workspace),
        email=email,
        role=role,
    )
    return row, token


def count_invitation(inviter: User) -> None:
    if seconds := rate_limiter().take(BY_USER, str(inviter.id)):
        text = _l(
            "You have made %(most)s invitations within a day. Try again in %(hours)s h.",
            most=lazy_digits(BY_USER.amount),
            hours=ceil(seconds / 3600),
        )
        raise RateLimited(seconds, FieldError(text, "too_many_invitations", "email"))


def note(row: WorkspaceInvitation, action: str, **changes: Any) -> None:
    on = object_of(row.workspace)
    record(db.session, action, workspace_id=row.workspace_id, on=on, email=row.email, **changes)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def open_in(access: Access) -> tuple[ColumnElement[bool], ...]:
    mine = WorkspaceInvitation.workspace_id == access.workspace_id
    return mine, WorkspaceInvitation.expires_datetime > now()


def open_ones(access: Access) -> Sequence[WorkspaceInvitation]:
    """The invitations of the workspace that can still be accepted, the newest first."""
    rows = select(WorkspaceInvitation).where(*open_in(access))
    return db.session.scalars(rows.order_by(WorkspaceInvitation.id.desc())).all()


def revoke(row: WorkspaceInvitation) -> None:
    """Ends an invitation from now on."""
    record(
        db.session,
        "member.invitation_revoked",
        workspace_id=row.workspace_id,
        on=object_of(row.workspace),
        email=row.email,
    )
    db.session.delete(row)
    db.session.flush()


def find(token: str) -> WorkspaceInvitation:
    """The invitation with this token. Raises NotFound for one that is used, withdrawn or expired.

    One by somebody who is no owner of the workspace any more is withdrawn, too.
    """
    is_open = WorkspaceInvitation.digest == digest(token), WorkspaceInvitation.expires_datetime > now()
    by_owner = (
        select(WorkspaceInvitation)
        .join(Workspace, Workspace.id == WorkspaceInvitation.workspace_id)
        .join(
            WorkspaceMember,
            (WorkspaceMember.workspace_id == WorkspaceInvitation.workspace_id)
            & (WorkspaceMember.user_id == WorkspaceInvitation.user_id),
        )
        .join(User, User.id == WorkspaceInvitation.user_id)
        .where(*is_open, WorkspaceMember.role == OWNER, Workspace.deleted_datetime.is_(None))
        .where(User.disabled_datetime.is_(None), User.deleted_datetime.is_(None))
    )
    row: WorkspaceInvitation | None = db.session.scalar(by_owner)
    if row is None:
        raise NotFound("invitation")
    return row


def accept(token: str, user: User) -> WorkspaceMember:
    """Makes the user a member. Exactly one concurrent call wins. The caller has begun the write, and commits.

    Raises NotFound, and Forbidden for a user without that address, or with one that is not verified.
    """
    row = find(token)
    if not user.is_own_address(row.email):
        text = _l("This invitation is for another e-mail address than the verified one of your account.")
        raise Forbidden(FieldError(text, "other_address"))
    workspaces.hold(row.workspace_id)
    gone = delete(WorkspaceInvitation).where(WorkspaceInvitation.id == row.id)
    workspace, role = row.workspace, row.role
    if db.session.scalar(gone.returning(WorkspaceInvitation.id)) is None:
        raise NotFound("invitation")
    there = select(WorkspaceMember).filter_by(workspace_id=workspace.id, user_id=user.id)
    return db.session.scalar(there) or workspaces.add_member(workspace, user, role)
