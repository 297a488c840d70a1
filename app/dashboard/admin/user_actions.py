"""Actions of an admin on a user, with the texts that explain them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from app.accounts import standing
from app.accounts.deletion import leaving
from app.accounts.models import User
from app.accounts.oidc import identities
from app.core.errors import FieldError, Invalid
from app.dashboard.auth.access import current_security_mail
from app.dashboard.auth.single_sign_on import require_provider
from app.i18n.messages import gettext_noop as _noop
from app.i18n.messages import lazy_gettext as _l

YOURSELF = _l("This is your own account. You can delete it on the account page.")


class UserAction(NamedTuple):
    """One action on a user. `words`: what it means, a sentence each."""

    heading: str
    words: Sequence[str]
    save: str
    service: Callable[[User], None]
    is_done: str  # a message with the slot `name`
    is_danger: bool = False
    undo: str = ""
    is_for_others: bool = False


def reset_two_factor(user: User) -> None:
    current_security_mail().reset_two_factor(user)


def allow_single_sign_on(user: User) -> None:
    if not user.is_own_address(user.email):
        text = _l(
            "The e-mail address of this account is not confirmed. The user can link it with the password."
        )
        raise Invalid(FieldError(text, "unverified_email"))
    identities.allow(user, require_provider().issuer)


def unlink_single_sign_on(user: User) -> None:
    identities.unlink(user, require_provider().issuer)


ACTIONS: Mapping[str, UserAction] = {
    "admin": UserAction(
        _l("Make this user admin?"),
        (
            _l("Admins manage users, invitations and this instance."),
            _l("They do not see other users' links or statistics."),
        ),
        _l("Make admin"),
        standing.make_admin,
        _noop("%(name)s is admin now."),
    ),
    "not-admin": UserAction(
        _l("Remove admin rights?"),
        (_l("The user keeps everything else. Invitations that this admin created no longer work."),),
        _l("Remove rights"),
        standing.unmake_admin,
        _noop("%(name)s is no longer an admin."),
    ),
    "reset-two-factor": UserAction(
        _l("Turn two-factor off for this user?"),
        (
            _l("For a user who has lost app, passkeys and recovery codes. Make sure who is asking."),
            _l("The password alone opens the account then. Passkeys are removed. Every session ends."),
            _l("The user is told by e-mail, if a mail server is set up."),
        ),
        _l("Turn off"),
        reset_two_factor,
        _noop("%(name)s signs in without a code now."),
        is_danger=True,
        is_for_others=True,
    ),
    "allow-single-sign-on": UserAction(
        _l("Allow single sign-on for this user?"),
        (
            _l(
                "The next sign-in at the provider with this e-mail address is linked to the account for good."
            ),
            _l("The user is not asked for the password. Make sure that the address is still theirs."),
            _l("This holds for 7 days."),
        ),
        _l("Allow"),
        allow_single_sign_on,
        _noop("%(name)s can sign in by single sign-on now."),
    ),
    "unlink-single-sign-on": UserAction(
        _l("Remove the link to single sign-on?"),
        (
            _l("Sessions that single sign-on began end."),
            _l("A user without a password can't sign in any more until you allow single sign-on again."),
        ),
        _l("Remove the link"),
        unlink_single_sign_on,
        _noop("%(name)s is not linked to single sign-on any more."),
        is_danger=True,
        is_for_others=True,
    ),
    "disable": UserAction(
        _l("Disable this user?"),
        (
            _l("No one can sign in to this account any more. Its sessions and API keys stop at once."),
            _l("Its links keep working, with their reports and notifications: visitors notice nothing."),
            _l("You can enable it again whenever you like."),
        ),
        _l("Disable user"),
        standing.disable,
        _noop("%(name)s is disabled."),
        is_danger=True,
        undo="enable",
        is_for_others=True,
    ),
    "enable": UserAction(
        _l("Enable this user?"),
        (_l("The password and the API keys work again as before."),),
        _l("Enable user"),
        standing.enable,
        _noop("%(name)s is enabled again."),
    ),
    "delete": UserAction(
        _l("Delete this user?"),
        (
            _l("All links of this user stop working at once: visitors get a “not found” page."),
            _l("Sessions and API keys stop too, and no more messages are sent."),
            _l(
                "For 30 days you can undo this. Then links, visits, pictures and history are deleted for "
                "good."
            ),
        ),
        _l("Delete user"),
        leaving.leave,
        _noop("%(name)s is deleted."),
        is_danger=True,
        undo="restore",
        is_for_others=True,
    ),
    "restore": UserAction(
        _l("Restore this user?"),
        (_l("All links work again, and the password and the API keys work as before."),),
        _l("Restore"),
        leaving.come_back,
        _noop("%(name)s is restored."),
    ),
}
