"""Actions of an admin on a user, with the texts that explain them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from app.accounts import standing
from app.accounts.deletion import leaving
from app.accounts.models import User
from app.dashboard.shared.security_email import current_security_mail

YOURSELF = "This is your own account. You can delete it on the account page."


class UserAction(NamedTuple):
    """One action on a user. `words`: what it means, a sentence each."""

    heading: str
    words: Sequence[str]
    save: str
    service: Callable[[User], None]
    is_done: str  # a format string with `{name}`
    is_danger: bool = False
    undo: str = ""
    is_for_others: bool = False


def reset_two_factor(user: User) -> None:
    current_security_mail().reset_two_factor(user)


ACTIONS: Mapping[str, UserAction] = {
    "admin": UserAction(
        "Make this user admin?",
        (
            "Admins look after users, invitations and this instance.",
            "They do not see other users' links or statistics.",
        ),
        "Make admin",
        standing.make_admin,
        "{name} is admin now.",
    ),
    "not-admin": UserAction(
        "Take the admin's rights away?",
        ("The user keeps everything else. Invitations that this admin made no longer open.",),
        "Take rights away",
        standing.unmake_admin,
        "{name} is no admin any more.",
    ),
    "reset-two-factor": UserAction(
        "Switch two-factor off for this user?",
        (
            "For somebody who has lost both the app and the recovery codes. Be sure who asks you.",
            "The password alone opens the account then. Every session ends.",
            "The user is told by mail, where a mail server is set.",
        ),
        "Switch off",
        reset_two_factor,
        "{name} signs in without a code now.",
        is_danger=True,
        is_for_others=True,
    ),
    "disable": UserAction(
        "Disable this user?",
        (
            "Nobody can sign in to this account any more. Its sessions and API keys stop at once.",
            "Its links go on, with their reports and messages: visitors notice nothing.",
            "You can enable it again whenever you like.",
        ),
        "Disable user",
        standing.disable,
        "{name} is disabled.",
        is_danger=True,
        undo="enable",
        is_for_others=True,
    ),
    "enable": UserAction(
        "Enable this user?",
        ("The password and the API keys work again as before.",),
        "Enable user",
        standing.enable,
        "{name} is enabled again.",
    ),
    "delete": UserAction(
        "Delete this user?",
        (
            "All links of this user stop at once: visitors are told that there is no such page.",
            "Sessions and API keys stop too, and no more messages are sent.",
            "For 30 days you can undo this. Then links, visits, pictures and history are gone for good.",
        ),
        "Delete user",
        leaving.leave,
        "{name} is deleted.",
        is_danger=True,
        undo="restore",
        is_for_others=True,
    ),
    "restore": UserAction(
        "Bring this user back?",
        ("All links answer again, and the password and the API keys work as before.",),
        "Bring back",
        leaving.come_back,
        "{name} is back.",
    ),
}
