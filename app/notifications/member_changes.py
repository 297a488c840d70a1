"""The mail to the owners of a workspace about a change of its members that a key has made."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import NamedTuple

from app.accounts import workspaces
from app.accounts.access import OWNER, ROLES
from app.accounts.models import ApiKey, User
from app.i18n.languages import in_language
from app.i18n.messages import gettext as _
from app.notifications.security_email import SecurityMail
from app.notifications.site import site_of
from app.notifications.system_email import Content

RETRY_PERIOD = dt.timedelta(days=1)


class Change(NamedTuple):
    """`action`: `invited`, `role`, `removed` or `revoked`, of the address; `role`: the new one, if any."""

    action: str
    email: str
    role: str = ""


def owners_of(workspace_id: int) -> list[User]:
    return [one.user for one in workspaces.members(workspace_id) if one.role == OWNER and one.user.is_active]


def tell_owners(mail: SecurityMail, key: ApiKey, owners: Iterable[User], change: Change) -> None:
    """Write the mail to each owner, in the owner's language, where a mail server is set."""
    for owner in owners:
        with in_language(owner.language):
            content = Content(
                title=_("The members of your workspace have changed"),
                text=" ".join(describe(change, key)),
                url=f"{site_of(mail.settings).owners}/dashboard/w/{key.workspace_id}/workspace/",
                button=_("See the members"),
                note="account",
                language=owner.language,
            )
        mail.post(owner, owner.email, f"members:{key.workspace_id}", content, RETRY_PERIOD)


def describe(change: Change, key: ApiKey) -> list[str]:
    workspace, email = key.workspace.name, change.email
    happened = {
        "invited": _("%(email)s was invited to the workspace “%(name)s”.", email=email, name=workspace),
        "role": _("%(email)s has another role in the workspace “%(name)s”.", email=email, name=workspace),
        "removed": _("%(email)s was removed from the workspace “%(name)s”.", email=email, name=workspace),
        "revoked": _(
            "The invitation of %(email)s to the workspace “%(name)s” was revoked.",
            email=email,
            name=workspace,
        ),
    }[change.action]
    role = [f"{_('Role')}: {ROLES[change.role]}."] if change.role else []
    by = _(
        "This was done by the API key “%(key)s” (%(prefix)s…) of %(who)s.",
        key=key.name,
        prefix=key.prefix,
        who=key.user.email,
    )
    advice = _("If you did not expect this, have the key revoked, and look through the members.")
    return [happened, *role, by, advice]
