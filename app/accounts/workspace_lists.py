"""The lists of members of a workspace, and of invitations into it."""

from __future__ import annotations

from sqlalchemy import and_, exists

from app.accounts.models import User, WorkspaceInvitation, WorkspaceMember
from app.accounts.rights import ROLES
from app.input.listing import Listing, one_of

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
