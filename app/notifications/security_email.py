"""Mails about the security of an account (passwords, e-mail address, two-factor, passkeys) and about members
of a workspace that a key has changed.

They are sent where a mail server is set. URLs in them come from the settings, never from a request's Host
header: anyone can forge that, and the one-time link for a new password would go to the forger's host.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from app.accounts import second_factor, standing, workspaces
from app.accounts.access import OWNER, ROLES
from app.accounts.models import ApiKey, PasswordReset, User
from app.accounts.one_time_addresses import LIFETIMES
from app.core.clock import now
from app.core.config import Settings
from app.core.database import AnySession
from app.i18n import digits
from app.i18n.languages import in_language
from app.i18n.messages import gettext as _
from app.i18n.messages import ngettext
from app.notifications import system_email
from app.notifications.addresses import without_addresses
from app.notifications.site import site_of
from app.notifications.system_email import Content

RETRY_PERIOD = dt.timedelta(days=1)


@dataclass(frozen=True)
class SecurityMail:
    """Writes each mail in the transaction of the change that it reports, in the owner's language."""

    session: AnySession
    settings: Settings

    def two_factor_is_on(self, user: User) -> None:
        with in_language(user.language):
            text = _("From now on, signing in asks for a code from your authenticator app.")
            self.tell(user, _("Two-factor authentication is on"), text, not_you())

    def two_factor_is_off(self, user: User) -> None:
        with in_language(user.language):
            text = _("From now on your password alone signs in to your account.")
            self.tell(user, _("Two-factor authentication is off"), text, not_you())

    def app_removed(self, user: User) -> None:
        with in_language(user.language):
            text = _("From now on signing in takes a passkey or a recovery code after your password.")
            self.tell(user, _("Your authenticator app was removed"), text, not_you())

    def passkey_added(self, user: User, name: str) -> None:
        with in_language(user.language):
            text = _("From now on the passkey “%(name)s” signs in to your account.", name=name)
            self.tell(user, _("A passkey was added"), text, not_you())

    def passkey_removed(self, user: User, name: str, *, is_off: bool) -> None:
        """Report a removed passkey. `is_off`: it was the last second factor."""
        with in_language(user.language):
            text = _("The passkey “%(name)s” no longer signs in to your account.", name=name)
            alone = [_("From now on your password alone signs in to your account.")] if is_off else []
            self.tell(user, _("A passkey was removed"), text, *alone, not_you())

    def identity_linked(self, user: User, email: str) -> None:
        """Report that a provider of single sign-on signs in to the account. `email`: of the person there."""
        with in_language(user.language):
            text = _("From now on %(email)s signs in to your account by single sign-on.", email=email)
            you = _("If this was not you, unlink it in your account, and set a new password.")
            self.tell(user, _("Single sign-on is linked to your account"), text, you)

    def reset_two_factor(self, user: User) -> None:
        """Switch two-factor authentication off, by the operator.

        Somebody else may have asked for it in the owner's name, so every session ends.
        """
        second_factor.forget(user)
        standing.end_sessions(user)
        with in_language(user.language):
            text = _("The operator of this instance has disabled it, and signed you out everywhere.")
            password = _("From now on your password alone signs in to your account.")
            asked = _("If you did not ask for this, talk to them, and set a new password.")
            self.tell(user, _("Two-factor authentication is off"), text, password, asked)

    def recovery_code_used(self, user: User, left: int) -> None:
        with in_language(user.language):
            text = _("Someone signed in with one of your recovery codes.")
            rest = ngettext("One code is left.", "%(left)s codes are left.", left, left=left)
            self.tell(user, _("A recovery code was used"), text, rest, not_you())

    def password_is_changed(self, user: User, revoked: int) -> None:
        """Report a new password. `revoked`: how many API keys were revoked with the old one."""
        system_email.withdraw(self.session, about_reset(user))
        with in_language(user.language):
            text = _("Your account has a new password, and every other session has ended.")
            keys = _("Your API keys go on working.")
            if revoked:
                keys = ngettext(
                    "One API key was revoked with it.",
                    "%(count)s API keys were revoked with it.",
                    revoked,
                    count=revoked,
                )
            you = _("If this was not you, choose another one at once by “Forgotten password?”.")
            self.tell(user, _("Your account has a new password"), text, keys, you)

    def email_is_changed(self, user: User, old: str) -> None:
        """Report a new e-mail address to the old one, whose reader may not have made the change.

        A password reset that is still on its way to the old address is withdrawn.
        """
        system_email.withdraw(self.session, about_reset(user))
        with in_language(user.language):
            text = _("From now on %(email)s signs in to your account, and mails go there.", email=user.email)
            you = _("If this was not you, tell the operator of this instance at once.")
            self.tell(user, _("Your account has another e-mail address"), text, you, to=old)

    def new_password(self, user: User, token: str) -> None:
        """Send the one-time link for a new password, in place of an earlier one. It is nowhere else."""
        system_email.withdraw(self.session, about_reset(user))
        with in_language(user.language):
            content = system_email.Content(
                title=_("A new password for Waypost"),
                text=" ".join(
                    (
                        _("Someone asked for a new password for your account."),
                        _("Choose one by the address below within an hour."),
                        _("If this was not you, you need not do anything: your password is unchanged."),
                    )
                ),
                url=f"{site_of(self.settings).owners}/login/reset?token={token}",
                button=_("Choose a new password"),
                language=user.language,
            )
        self.post(user, user.email, about_reset(user), content, LIFETIMES[PasswordReset])

    def import_failed(self, user: User, import_id: int, name: str, rows: int) -> None:
        with in_language(user.language):
            ended = ngettext(
                "The import of %(name)s ended after %(rows)s row.",
                "The import of %(name)s ended after %(rows)s rows.",
                rows,
                name=name,
                rows=digits(rows),
            )
            now_what = _("Links that were imported stay. The import's page says what to do.")
            content = system_email.Content(
                title=_("An import has failed"),
                text=f"{ended} {now_what}",
                url=f"{site_of(self.settings).owners}/dashboard/imports/{import_id}",
                button=_("See the import"),
                note="account",
                language=user.language,
            )
        self.post(user, user.email, f"import:{import_id}", content, RETRY_PERIOD)

    def tell(self, user: User, title: str, *texts: str, to: str = "") -> None:
        content = system_email.Content(
            title=title,
            text=" ".join(texts),
            url=f"{site_of(self.settings).owners}/dashboard/account/",
            button=_("See your account"),
            note="account",
            language=user.language,
        )
        self.post(user, to or user.email, "account", content, RETRY_PERIOD)

    def post(
        self, user: User, email: str, about: str, content: system_email.Content, good_for: dt.timedelta
    ) -> None:
        if not self.settings.smtp_url:
            return
        if email != user.verified_email:  # it may be a stranger's
            if system_email.has_enough(self.session, email) or system_email.has_sent_enough(
                self.session, user
            ):
                return
            content = replace(content, text=without_addresses(content.text))
        system_email.enqueue(self.session, user.id, about, email, content, now() + good_for)


def about_reset(user: User) -> str:
    return f"reset:{user.id}"


def not_you() -> str:
    return _("If this was not you, set a new password, and look through the sessions in your account.")


class MemberChange(NamedTuple):
    """`action`: `invited`, `role`, `removed` or `revoked`, of the address; `role`: the new one, if any."""

    action: str
    email: str
    role: str = ""


def owners_of(workspace_id: int) -> list[User]:
    return [one.user for one in workspaces.members(workspace_id) if one.role == OWNER and one.user.is_active]


def tell_owners(mail: SecurityMail, key: ApiKey, owners: Iterable[User], change: MemberChange) -> None:
    """Write the mail to each owner, in the owner's language, where a mail server is set."""
    for owner in owners:
        with in_language(owner.language):
            content = Content(
                title=_("The members of your workspace have changed"),
                text=" ".join(describe_change(change, key)),
                url=f"{site_of(mail.settings).owners}/dashboard/w/{key.workspace_id}/workspace/",
                button=_("See the members"),
                note="account",
                language=owner.language,
            )
        mail.post(owner, owner.email, f"members:{key.workspace_id}", content, RETRY_PERIOD)


def describe_change(change: MemberChange, key: ApiKey) -> list[str]:
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
