"""What can an admin do with a user, and what does it mean?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from app.accounts import standing
from app.accounts.models import User
from app.dashboard.security_mail import told
from app.departures import leaving

YOURSELF = "This is your own account. You can delete it on the account page."


class Action(NamedTuple):
    """One thing to do with a user. `words`: what it means, a sentence each."""

    heading: str
    words: Sequence[str]
    save: str
    service: Callable[[User], None]
    is_done: str  # as a text with a place for the name
    is_danger: bool = False
    undo: str = ""
    is_for_others: bool = False


def reset_two_factor(user: User) -> None:
    told().reset_two_factor(user)


ACTIONS: Mapping[str, Action] = {
    "admin": Action(
        "Make this user admin?",
        (
            "Admins look after users, invitations and this instance.",
            "They do not see other users' links or statistics.",
        ),
        "Make admin",
        standing.make_admin,
        "{name} is admin now.",
    ),
    "not-admin": Action(
        "Take the admin's rights away?",
        ("The user keeps everything else. Invitations that this admin made no longer open.",),
        "Take rights away",
        standing.unmake_admin,
        "{name} is no admin any more.",
    ),
    "reset-two-factor": Action(
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
    "disable": Action(
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
    "enable": Action(
        "Enable this user?",
        ("The password and the API keys work again as before.",),
        "Enable user",
        standing.enable,
        "{name} is enabled again.",
    ),
    "delete": Action(
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
    "restore": Action(
        "Bring this user back?",
        ("All links answer again, and the password and the API keys work as before.",),
        "Bring back",
        leaving.come_back,
        "{name} is back.",
    ),
}
