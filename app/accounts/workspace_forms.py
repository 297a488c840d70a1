"""Forms of workspaces: their name, a member's role, an invitation, and the deletion."""

from __future__ import annotations

from app.accounts.forms import EmailField, OwnPasswordField, ProofForm
from app.accounts.rights import ROLES
from app.accounts.workspaces import members
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ChoiceField, Rejected, ResourceForm, TextField


class WorkspaceForm(ResourceForm):
    """A workspace: its name."""

    name = TextField(_l("Name"), most=128, required=True)

    def validate_name(self, field: TextField) -> None:
        if not field.data.strip():
            raise Rejected(_l("This can't be empty."), "required")


class DeleteWorkspaceForm(ProofForm):
    """Confirms the deletion of the workspace `owner` by its name and the password of who deletes it.

    (The view checks the password.)
    """

    own_name = TextField(_l("Name of the workspace"), most=128, required=True)
    own_password = OwnPasswordField(_l("Current password"), required=True)

    def validate_own_name(self, field: TextField) -> None:
        if (field.data or "").strip() != self.owner.name.strip():
            raise Rejected(_l("This is not the name of this workspace."), "other_name")


class MemberForm(ResourceForm):
    """The role of a member."""

    role = ChoiceField(_l("Role"), choices=ROLES, required=True)


class MemberInvitationForm(MemberForm):
    """An invitation into the workspace of `owner`, for one address."""

    email = EmailField(_l("E-mail"), required=True)

    def validate_email(self, field: EmailField) -> None:
        if any(one.user.email == field.data for one in members(self.owner.workspace_id)):
            raise Rejected(_l("This address is a member already."), "taken")
