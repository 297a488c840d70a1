"""Rate limits of passwords, codes and reset mails.

Strangers are counted by address and by account. A browser that was signed in before, and an open session,
have counts of their own: what strangers do never locks an owner out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from flask import current_app, request
from limits import RateLimitItem

from app.accounts.models import User
from app.accounts.services import written_email
from app.dashboard import known_browsers
from app.errors import FieldError, TooMany
from app.throttles import Throttles, at_most, network_of

BY_ADDRESS = at_most(30, minutes=10, name="sign-in-address")
BY_ACCOUNT = at_most(15, minutes=10, name="sign-in-account")
BY_BROWSER = at_most(15, minutes=10, name="sign-in-browser")
# of all known browsers of an account: whoever knew the password once could have collected many
KNOWN_BY_ACCOUNT = at_most(100, minutes=10, name="sign-in-known")
BY_SESSION = at_most(15, minutes=10, name="password-session")

CODE = at_most(10, minutes=10, name="sign-in-code")
CODE_BY_BROWSER = at_most(10, minutes=10, name="sign-in-code-browser")
CODE_BY_SESSION = at_most(10, minutes=10, name="code-session")
FORGOTTEN_BY_ADDRESS = at_most(20, minutes=60, name="forgotten-address")
FORGOTTEN = at_most(3, minutes=60, name="forgotten-account")
FORGOTTEN_BY_BROWSER = at_most(3, minutes=60, name="forgotten-browser")


class Count(NamedTuple):
    """One limit, what is counted by, and whether a right answer resets it.

    Counts that many accounts share are never reset: an account of one's own must not buy guesses at others'.
    """

    limit: RateLimitItem
    who: str
    is_reset: bool = True


def of_sign_in(email: str, browser: str | None) -> Sequence[Count]:
    """`browser`: its name where it was signed in to this account before."""
    account = written_email(email)
    if browser:
        return Count(BY_BROWSER, f"{browser} {account}"), Count(KNOWN_BY_ACCOUNT, account, is_reset=False)
    return by_address(BY_ADDRESS), Count(BY_ACCOUNT, account)


def of_code(user: User) -> Sequence[Count]:
    """Of a code at the sign-in."""
    if browser := known_browsers.name_for_user(user):
        return (Count(CODE_BY_BROWSER, f"{browser} {user.id}"),)
    return by_address(BY_ADDRESS), Count(CODE, str(user.id))


def of_forgotten(email: str) -> Sequence[Count]:
    """Of mails with a one-time address for a new password."""
    if browser := known_browsers.name_for_email(email):
        return (Count(FORGOTTEN_BY_BROWSER, f"{browser} {written_email(email)}"),)
    return by_address(FORGOTTEN_BY_ADDRESS), Count(FORGOTTEN, written_email(email))


def by_address(limit: RateLimitItem) -> Count:
    return Count(limit, network_of(request.remote_addr or ""), is_reset=False)


def count_try(counts: Sequence[Count]) -> None:
    """Count a try before it is made: as many at once as there may be in a row. Raises TooMany."""
    for count in counts:
        if seconds := throttles().take(count.limit, count.who):
            minutes = ceil(seconds / 60)
            wait = "a minute" if minutes == 1 else f"{minutes} minutes"
            text = f"There were too many tries. Wait {wait}, then try again."
            raise TooMany(seconds, FieldError(text, "too_many_tries"))


def reset_counts(counts: Sequence[Count]) -> None:
    """The try was right."""
    for count in counts:
        if count.is_reset:
            throttles().forgive(count.limit, count.who)


def throttles() -> Throttles:
    found: Throttles = current_app.extensions["throttles"]
    return found
