"""Actions of an admin on a user, with the texts that explain them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from app.accounts import standing
from app.accounts.deletion import leaving
from app.accounts.models import User
from app.dashboard.shared.security_email import current_security_mail
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
