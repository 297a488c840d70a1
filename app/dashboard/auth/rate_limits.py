"""Rate limits of passwords, codes and reset mails.

Strangers are counted by address and by account. A browser that was signed in before, and an open session,
have counts of their own: what strangers do never locks an owner out.
"""

# see docs/decisions/2026-11-20-sign-in-throttles.md
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import NamedTuple

from flask import request
from limits import RateLimitItem

from app.accounts.models import User
from app.accounts.services import written_email
from app.core.errors import Busy, FieldError, RateLimited
from app.dashboard.auth import known_browsers
from app.i18n.messages import lazy_ngettext
from app.rate_limit.limiter import at_most, network_of
from app.web.rate_limits import rate_limiter

BY_ADDRESS = at_most(30, minutes=10, name="sign-in-address")
BY_ACCOUNT = at_most(15, minutes=10, name="sign-in-account")
BY_BROWSER = at_most(15, minutes=10, name="sign-in-browser")
# all known browsers of an account together: an attacker who once knew the password may have collected many
KNOWN_BY_ACCOUNT = at_most(100, minutes=10, name="sign-in-known")
BY_SESSION = at_most(15, minutes=10, name="password-session")

# addresses of sign-ins by the provider, and logout tokens of it that are not valid
OIDC_STARTS = at_most(60, minutes=10, name="oidc-start-address")
OIDC_LOGOUTS = at_most(60, minutes=10, name="oidc-logout-address")

CODE = at_most(10, minutes=10, name="sign-in-code")
CODE_BY_BROWSER = at_most(10, minutes=10, name="sign-in-code-browser")
CODE_BY_SESSION = at_most(10, minutes=10, name="code-session")
FORGOTTEN_BY_ADDRESS = at_most(20, minutes=60, name="forgotten-address")
FORGOTTEN = at_most(3, minutes=60, name="forgotten-account")
FORGOTTEN_BY_BROWSER = at_most(3, minutes=60, name="forgotten-browser")


class TryLimit(NamedTuple):
    """One limit, the key that it counts by, and whether a right answer resets it.

    Counts that many accounts share are never reset: a stranger's own account must not buy guesses at others.
    """

    limit: RateLimitItem
    who: str
    is_reset: bool = True


def of_sign_in(email: str, browser: str | None) -> Sequence[TryLimit]:
    """Limits of a sign-in. `browser`: its name where it was signed in to this account before."""
    account = written_email(email)
    if browser:
        return TryLimit(BY_BROWSER, f"{browser} {account}"), TryLimit(
            KNOWN_BY_ACCOUNT, account, is_reset=False
        )
    return by_address(BY_ADDRESS), TryLimit(BY_ACCOUNT, account)


def of_passkey(user: User | None) -> Sequence[TryLimit]:
    """Limits of a sign-in with a passkey alone, whose account is not proved yet.

    No account is counted: a signature can't be guessed, and a stranger must not use up its owner's tries.
    """
    browser = known_browsers.name_for_user(user) if user else None
    if user and browser:
        return (TryLimit(BY_BROWSER, f"{browser} {user.email}"),)
    return (by_address(BY_ADDRESS),)


def of_code(user: User) -> Sequence[TryLimit]:
    """Limits of a code at the sign-in."""
    if browser := known_browsers.name_for_user(user):
        return (TryLimit(CODE_BY_BROWSER, f"{browser} {user.id}"),)
    return by_address(BY_ADDRESS), TryLimit(CODE, str(user.id))


def of_forgotten(email: str) -> Sequence[TryLimit]:
    """Limits of mails that reset a password."""
    if browser := known_browsers.name_for_email(email):
        return (TryLimit(FORGOTTEN_BY_BROWSER, f"{browser} {written_email(email)}"),)
    return by_address(FORGOTTEN_BY_ADDRESS), TryLimit(FORGOTTEN, written_email(email))


def by_address(limit: RateLimitItem) -> TryLimit:
    return TryLimit(limit, network_of(request.remote_addr or ""), is_reset=False)


def count_try(counts: Sequence[TryLimit]) -> None:
    """Count a try before it is made, so that concurrent tries are limited, too. Raises RateLimited."""
    for count in counts:
        if seconds := rate_limiter().take(count.limit, count.who):
            minutes = ceil(seconds / 60)
            text = lazy_ngettext(
                "Too many attempts. Wait a minute, then try again.",
                "Too many attempts. Wait %(num)s minutes, then try again.",
                minutes,
            )
            raise RateLimited(seconds, FieldError(text, "too_many_tries"))


@contextmanager
def counted_try(counts: Sequence[TryLimit]) -> Iterator[None]:
    """Count a try for the hash made inside. If none is made (Busy), take it back. Raises RateLimited."""
    count_try(counts)
    try:
        yield
    except Busy:
        give_back(counts)
        raise


def give_back(counts: Sequence[TryLimit]) -> None:
    """Take back a try that was none."""
    for count in counts:
        rate_limiter().give_back(count.limit, count.who)


def reset_counts(counts: Sequence[TryLimit]) -> None:
    """Reset the counts after a right answer."""
    for count in counts:
        if count.is_reset:
            rate_limiter().reset(count.limit, count.who)
