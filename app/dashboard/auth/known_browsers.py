"""A signed cookie says for which accounts a browser has been signed in before.

Tries of such a browser are counted apart, so that strangers who try an account's password never lock its
owner out ("device cookies" of OWASP). The cookie opens nothing and outlives the session.
See docs/decisions/2026-11-22-lock-outs.md.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import NamedTuple

from flask import Response, after_this_request, request
from itsdangerous import BadSignature, URLSafeTimedSerializer

from app.accounts.models import User
from app.accounts.services import find_user
from app.cookies import host_cookie
from app.secret_keys.ring import keys

COOKIE = "waypost_browser"
SECONDS = 365 * 24 * 3600
MAX_ACCOUNTS = 5  # the latest ones, so that the cookie stays small
SALT = "waypost: a browser that was signed in"  # nothing else that the key signs can be taken for it


class KnownBrowser(NamedTuple):
    """A random name of the browser, and the ids of the accounts it was signed in to, the latest first."""

    name: str
    accounts: list[int]


def remember_browser(user: User) -> None:
    """Send the cookie with the answer to this request. Only after the account was really opened."""
    known = read_cookie() or KnownBrowser(secrets.token_urlsafe(16), [])
    accounts = [user.id, *(id_ for id_ in known.accounts if id_ != user.id)][:MAX_ACCOUNTS]
    token = str(serializer().dumps([known.name, accounts]))

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
    """None for what we have not signed, or more than a year ago."""
    try:
        return KnownBrowser(
            *serializer().loads(request.cookies.get(host_cookie(COOKIE), ""), max_age=SECONDS)
        )
    except BadSignature:
        return None


def serializer() -> URLSafeTimedSerializer:
    how = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    return URLSafeTimedSerializer(keys().signing(), salt=SALT, signer_kwargs=how)
