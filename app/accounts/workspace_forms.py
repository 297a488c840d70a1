"""Forms of workspaces: their name, a member's role and an invitation."""

from __future__ import annotations

from app.accounts.forms import EmailField
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


class MemberForm(ResourceForm):
    """The role of a member."""

    role = ChoiceField(_l("Role"), choices=ROLES, required=True)


class MemberInvitationForm(MemberForm):
    """An invitation into the workspace of `owner`, for one address."""

    email = EmailField(_l("E-mail"), required=True)

    def validate_email(self, field: EmailField) -> None:
        if any(one.user.email == field.data for one in members(self.owner.workspace_id)):
            raise Rejected(_l("This address is a member already."), "taken")
