"""Rate limits of passwords, codes and reset mails, and the browsers that are counted apart.

Strangers are counted by address and by account. A browser that was signed in before, and an open session,
have counts of their own: what strangers do never locks an owner out ("device cookies" of OWASP). A signed
cookie names the accounts that a browser has been signed in to. It gives no access and outlives the session.
See docs/decisions/2026-11-22-lock-outs.md.
"""

# see docs/decisions/2026-11-20-sign-in-throttles.md
from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import NamedTuple

from flask import Response, after_this_request, request
from itsdangerous import BadSignature
from limits import RateLimitItem

from app.accounts.models import User
from app.accounts.services import find_user, written_email
from app.core.errors import Busy, FieldError, RateLimited
from app.core.secret_keys.timed_tokens import TimedTokens
from app.i18n.messages import lazy_ngettext
from app.rate_limit.limiter import at_most, network_of
from app.web.application import rate_limiter
from app.web.security_headers import host_cookie

BROWSER_COOKIE = "waypost_browser"
BROWSER_SECONDS = 365 * 24 * 3600
MAX_ACCOUNTS = 5  # the latest ones, so that the cookie stays small
BROWSER_TOKENS = TimedTokens("waypost: a browser that was signed in", BROWSER_SECONDS)


class KnownBrowser(NamedTuple):
    """A random name of the browser, and the ids of the accounts it was signed in to, the latest first."""

    name: str
    accounts: list[int]


def remember_browser(user: User) -> None:
    """Send the cookie with this response. Only for a user who has just proved to own the account."""
    known = read_known_browser() or KnownBrowser(secrets.token_urlsafe(16), [])
    accounts = [user.id, *(id_ for id_ in known.accounts if id_ != user.id)][:MAX_ACCOUNTS]
    token = BROWSER_TOKENS.sign([known.name, accounts])

    @after_this_request
    def send(response: Response) -> Response:
        response.set_cookie(
            host_cookie(BROWSER_COOKIE),
            token,
            max_age=BROWSER_SECONDS,
            secure=request.is_secure,
            httponly=True,
            samesite="Strict",
        )
        return response


def name_for_email(email: str) -> str | None:
    """This browser's name, where it was signed in to the account with this address; else None."""
    known = read_known_browser()
    user = find_user(email) if known else None
    return known.name if known and user and user.id in known.accounts else None


def name_for_user(user: User) -> str | None:
    known = read_known_browser()
    return known.name if known and user.id in known.accounts else None


def read_known_browser() -> KnownBrowser | None:
    """None without a cookie that we have signed within the last year."""
    try:
        return KnownBrowser(*BROWSER_TOKENS.read(request.cookies.get(host_cookie(BROWSER_COOKIE), "")))
    except BadSignature:
        return None


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
    browser = name_for_user(user) if user else None
    if user and browser:
        return (TryLimit(BY_BROWSER, f"{browser} {user.email}"),)
    return (by_address(BY_ADDRESS),)


def of_code(user: User) -> Sequence[TryLimit]:
    """Limits of a code at the sign-in."""
    if browser := name_for_user(user):
        return (TryLimit(CODE_BY_BROWSER, f"{browser} {user.id}"),)
    return by_address(BY_ADDRESS), TryLimit(CODE, str(user.id))


def of_forgotten(email: str) -> Sequence[TryLimit]:
    """Limits of mails that reset a password."""
    if browser := name_for_email(email):
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
