"""Forms of accounts: sign-in, users, passwords, invitations and API keys; of workspaces and their members."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import available_timezones

from email_validator import EmailNotValidError, validate_email

from app.accounts.access import ROLES
from app.accounts.keys import SCOPES
from app.accounts.models import User
from app.accounts.passkey_ceremonies import MAX_RESPONSE
from app.accounts.passkeys import MAX_NAME
from app.accounts.passwords import MAX_LENGTH, find_weakness
from app.accounts.services import Profile, written_email
from app.accounts.workspaces import members
from app.core import clock
from app.i18n import language
from app.i18n.languages import dashboard_languages
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ChoiceField, FlagField, Rejected, ResourceForm, TextField, WholeField

LANGUAGES = dashboard_languages()
REPORT_PERIODS = {
    "daily": _l("Every day"),
    "weekly": _l("Every Monday"),
    "monthly": _l("On the first of a month"),
    "never": _l("Never"),
}
REPORT_HOURS = {hour: f"{hour:02d}:00" for hour in range(24)}
MAX_DAYS = 36_500


def zones() -> dict[str, str]:
    """The time zones to choose from: UTC and places, without the old abbreviations."""
    return {"UTC": "UTC"} | {
        name: name.replace("_", " ") for name in sorted(available_timezones()) if "/" in name
    }


class EmailField(TextField):
    """An e-mail address, checked by its form alone: a private mail server may be called `localhost`."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, most=320, **options)

    def parse(self, text: str) -> str:
        return parse_email(super().parse(text))


def parse_email(text: str) -> str:
    """An e-mail address as it is stored. Raises Rejected."""
    try:
        found = validate_email(written_email(text), check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError as error:
        raise Rejected(str(error), "email") from None
    return found.normalized.lower()


class PasswordField(TextField):
    """A password as typed: not trimmed, and never rendered back into its control."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, most=MAX_LENGTH, **options)

    def raw_text(self) -> str:
        return ""


class OwnPasswordField(PasswordField):
    """The current password of a signed-in user, for which a passkey may stand in."""


class PasskeyField(TextField):
    """What the browser's script says of a passkey. Never rendered back: it works once."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, most=MAX_RESPONSE, **options)

    def raw_text(self) -> str:
        return ""


class CodeField(TextField):
    """Six digits, or a recovery code. Never rendered back into its control: a code works once."""

    def raw_text(self) -> str:
        return ""


class SignInForm(ResourceForm):
    """Address and password as typed, without rules: the only error about them is a failed sign-in."""

    email = TextField(_l("E-mail"), most=320, required=True)
    password = PasswordField(_l("Password"), required=True)
    remember = FlagField(_l("Stay signed in"))


class CodeForm(ResourceForm):
    """A code from the authenticator app, or a recovery code."""

    code = CodeField(_l("Code"), most=64, required=True)


class ProofForm(ResourceForm):
    """A form that asks its signed-in user for the password, or for a passkey instead."""

    passkey = PasskeyField(_l("Passkey"))

    def settle(self) -> None:
        for field in self if self.passkey.data else ():
            if isinstance(field, OwnPasswordField):
                field.ignore()


class CurrentPasswordForm(ProofForm):
    """The current password, before an action that a stranger at an unlocked browser must not do."""

    current_password = OwnPasswordField(_l("Current password"), required=True)


class PasswordAgainForm(ProofForm):
    """The password again, before keys, exports and deletions."""

    # a name of its own: the forms on the same page have other field names
    own_password = OwnPasswordField(_l("Current password"), required=True)


class CodeAndProofForm(CodeForm, ProofForm):
    """A code, and a password that a subclass names. A passkey that knows its user is worth both."""

    def settle(self) -> None:
        super().settle()
        if self.passkey.data:
            self.code.ignore()


class LeaveTwoFactorForm(CodeAndProofForm, CurrentPasswordForm):
    """Code and password, to disable two-factor authentication."""


class PasskeyForm(ResourceForm):
    """A passkey at the sign-in."""

    passkey = PasskeyField(_l("Passkey"), required=True)
    remember = FlagField(_l("Stay signed in"))


class NewPasskeyForm(ResourceForm):
    """A new passkey. Without a name it gets that of its authenticator or browser."""

    passkey = PasskeyField(_l("Passkey"), required=True)
    name = TextField(_l("Name"), most=MAX_NAME, clears_to="")


class RemovePasskeyForm(ProofForm):
    """The password, before a passkey is removed."""

    # names of their own: the account page, over which these forms open, has a password and a name already
    removal_password = OwnPasswordField(_l("Current password"), required=True)


class RemoveLastPasskeyForm(CodeAndProofForm, RemovePasskeyForm):
    """The password and a recovery code, before the last second factor is removed."""


class PasskeyNameForm(ResourceForm):
    """Another name of a passkey."""

    passkey_name = TextField(_l("Name"), most=MAX_NAME, required=True)


class AddressForm(ResourceForm):
    """The e-mail address of an account, for example one whose password is forgotten."""

    email = EmailField(_l("E-mail"), required=True)


class BrowserZoneField(TextField):
    """The time zone that a script of the page reads from the browser; UTC where it is unknown here."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, most=64, **options)

    def parse(self, text: str) -> str:
        return text if text in zones() else "UTC"


class NewUserForm(ResourceForm):
    """A new account; `name` may be left out."""

    email = EmailField(_l("E-mail"), required=True)
    name = TextField(_l("Name"), most=128, clears_to="")
    password = PasswordField(_l("Password"), required=True)
    timezone = BrowserZoneField(_l("Time zone"))

    def validate_password(self, field: PasswordField) -> None:
        refuse_weak(field, self.email.data or "", self.name.data or "")

    @property
    def profile(self) -> Profile:
        """Name, time zone and language of the new account, the last two those of the browser."""
        return Profile(self.name.data or "", self.timezone.data or "UTC", language())


class AccountForm(ResourceForm):
    """What a user changes about the account; address and password have forms of their own."""

    name = TextField(_l("Name"), most=128, clears_to="")
    timezone = ChoiceField(_l("Time zone"), choices=zones(), required=True)
    language = ChoiceField(_l("Language"), choices=LANGUAGES, required=True)
    report_period = ChoiceField(_l("Reports"), choices=REPORT_PERIODS, required=True)
    report_hour = ChoiceField(_l("At"), choices=REPORT_HOURS, required=True)
    checks_destinations = FlagField(_l("Check destinations"))
    fetches_favicons = FlagField(_l("Show icons of destinations"))


class NewPasswordForm(ResourceForm):
    """A new password for the account of `owner`, and whether to revoke its API keys."""

    password = PasswordField(_l("New password"), required=True)
    revoke_keys = FlagField(_l("Revoke all API keys"))

    def validate_password(self, field: PasswordField) -> None:
        owner: User = self.owner
        refuse_weak(field, owner.email, owner.name)


class PasswordForm(NewPasswordForm, ProofForm):
    """A new password, confirmed by the current one. (The view checks the current one.)"""

    current_password = OwnPasswordField(_l("Current password"), required=True)


class OwnEmailForm(ProofForm):
    """Another e-mail address to sign in with, confirmed by the password. (The view checks it.)"""

    # names of their own: the account page has an address and a password already
    new_email = EmailField(_l("New e-mail address"), required=True)
    own_password = OwnPasswordField(_l("Current password"), required=True)


class LeaveForm(ProofForm):
    """Confirms the deletion of `owner`'s account by address and password. (The view checks the password.)"""

    # names of their own: the account page has an address and a password already
    own_email = TextField(_l("Your e-mail address"), most=320, required=True)
    own_password = OwnPasswordField(_l("Current password"), required=True)

    def validate_own_email(self, field: TextField) -> None:
        if written_email(field.data or "") != self.owner.email:
            raise Rejected(_l("This is not the e-mail address of this account."), "other_email")


class InvitationForm(ResourceForm):
    """An invitation; without an e-mail address it is for the person whom the admin hands it to."""

    email = EmailField(_l("E-mail"), clears_to="")
    is_admin = FlagField(_l("Admin"))


def refuse_weak(field: PasswordField, *about: str) -> None:
    if problem := find_weakness(field.data or "", *about):
        raise Rejected(problem, "weak_password")


class KeyForm(ResourceForm):
    """A new API key. `expires` is a number of days from now; empty means never."""

    name = TextField(_l("Name"), most=128, required=True)
    scope = ChoiceField(_l("Permissions"), choices=SCOPES)
    changes_members = FlagField(_l("Change members"))
    expires = WholeField(_l("Expires after days"), least=1, most=MAX_DAYS)

    def validate_changes_members(self, field: FlagField) -> None:
        if field.data and self.scope.data in {"read", "create"}:
            raise Rejected(_l("Only a key that reads and writes can change members."), "scope")

    @property
    def changes(self) -> dict[str, Any]:
        """The changes as `keys.create_key` takes them: the expiry as a point in time."""
        found = super().changes
        if days := found.pop("expires", None):
            found["expires"] = clock.now() + dt.timedelta(days=days)
        return {name: value for name, value in found.items() if value is not None}


# --- workspaces and their members


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
