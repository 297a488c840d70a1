"""The mail that invites somebody into a workspace."""

from __future__ import annotations

from app.accounts.models import User, WorkspaceInvitation
from app.core.clock import format_utc
from app.core.database import AnySession
from app.i18n.languages import in_language
from app.i18n.messages import gettext as _
from app.notifications import system_email
from app.notifications.addresses import name_without_addresses


def post_invitation(session: AnySession, row: WorkspaceInvitation, inviter: User, address: str) -> bool:
    """Writes the mail, in the inviter's language: the other is not known. Returns whether it will be sent.

    An address that had enough mails today gets none, because it may not be the one of who is meant. The names
    were typed by the inviter: what looks like an address in them is left out.
    """
    if system_email.has_enough(session, row.email):
        return False
    who, workspace = (name_without_addresses(name) for name in (inviter.name, row.workspace.name))
    until = format_utc(row.expires_datetime)
    with in_language(inviter.language):
        content = system_email.Content(
            title=_("%(who)s invites you to a workspace", who=who)
            if who
            else _("You are invited to a workspace"),
            text=_(
                "Sign in to Waypost with this e-mail address to work in %(workspace)s. The link below works"
                " once, until %(until)s UTC.",
                workspace=workspace,
                until=until,
            )
            if workspace
            else _(
                "Sign in to Waypost with this e-mail address to see the invitation. The link below works"
                " once, until %(until)s UTC.",
                until=until,
            ),
            url=address,
            button=_("See the invitation"),
            language=inviter.language,
        )
    system_email.enqueue(session, inviter.id, about_of(row), row.email, content, row.expires_datetime)
    return True


def about_of(row: WorkspaceInvitation) -> str:
    return f"member:{row.id}"
