"""Signed cookie that names the accounts a browser has been signed in to before.

Tries of such a browser are counted apart, so that strangers who try an account's password never lock its
owner out ("device cookies" of OWASP). The cookie gives no access and outlives the session.
See docs/decisions/2026-11-22-lock-outs.md.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from flask import Response, after_this_request, request
from itsdangerous import BadSignature

from app.accounts.models import User
from app.accounts.services import find_user
from app.core.secret_keys.timed_tokens import TimedTokens
from app.web.cookies import host_cookie

COOKIE = "waypost_browser"
SECONDS = 365 * 24 * 3600
MAX_ACCOUNTS = 5  # the latest ones, so that the cookie stays small
TOKENS = TimedTokens("waypost: a browser that was signed in", SECONDS)


class KnownBrowser(NamedTuple):
    """A random name of the browser, and the ids of the accounts it was signed in to, the latest first."""

    name: str
    accounts: list[int]


def remember_browser(user: User) -> None:
    """Send the cookie with this response. Only for a user who has just proved to own the account."""
    known = read_cookie() or KnownBrowser(secrets.token_urlsafe(16), [])
    accounts = [user.id, *(id_ for id_ in known.accounts if id_ != user.id)][:MAX_ACCOUNTS]
    token = TOKENS.sign([known.name, accounts])

    @after_this_request
    def send(response: Response) -> Response:
        response.set_cookie(
            host_cookie(COOKIE),
            token,
            max_age=SECONDS,
            secure=request.is_secure,
            httponly=True,
            samesite="Strict",
        )
        return response


def name_for_email(email: str) -> str | None:
    """This browser's name, where it was signed in to the account with this address; else None."""
    known = read_cookie()
    user = find_user(email) if known else None
    return known.name if known and user and user.id in known.accounts else None


def name_for_user(user: User) -> str | None:
    known = read_cookie()
    return known.name if known and user.id in known.accounts else None


def read_cookie() -> KnownBrowser | None:
    """None without a cookie that we have signed within the last year."""
    try:
        return KnownBrowser(*TOKENS.read(request.cookies.get(host_cookie(COOKIE), "")))
    except BadSignature:
        return None
