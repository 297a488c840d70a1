"""One sign-in on its way to the provider and back, kept in an encrypted cookie of the browser that began it.

Each has a cookie of its own, so that two tabs do not spoil each other's sign-in, and no session is needed. An
answer without its cookie began in another browser, and is refused.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from typing import NamedTuple

from flask import Response, after_this_request, request

from app.accounts.oidc.errors import StaleSignIn
from app.accounts.oidc.sign_in_request import SignInRequest
from app.accounts.oidc.used_values import use_once
from app.core.clock import now
from app.core.encryption import decrypt_text, encrypt_text
from app.core.extensions import db
from app.core.secret_keys.ring import current_keys
from app.web.cookies import secure_cookie

PATH = "/login/oidc"
COOKIE = "waypost_oidc_"
LIFETIME = dt.timedelta(minutes=10)
MAX_FLOWS = 5  # of one browser at a time: their cookies share one header
SIGN_IN, AGAIN, INVITATION, SETUP = "sign_in", "again", "invitation", "setup"


class Flow(NamedTuple):
    """A sign-in under way. `token`: of the invitation or the set-up. `session_id`: of the session that asks
    who is there again, else 0."""

    state: str
    nonce: str
    verifier: str
    purpose: str
    next_: str
    token: str = ""
    session_id: int = 0
    until: float = 0

    @property
    def sign_in_request(self) -> SignInRequest:
        return SignInRequest(self.state, self.nonce, self.verifier)


def begin(flow: Flow) -> None:
    """Send the cookie with this response. Older sign-ins of a browser that has begun many are given up."""
    content = json.dumps(flow._replace(until=(now() + LIFETIME).timestamp()))
    text = encrypt_text(content.encode(), current_keys().current())
    old = [name for name in request.cookies if name.startswith(secure_cookie(COOKIE))]

    @after_this_request
    def send(response: Response) -> Response:
        for name in old if len(old) >= MAX_FLOWS else ():
            response.delete_cookie(name, path=PATH, secure=request.is_secure, httponly=True)
        response.set_cookie(
            name_of(flow.state),
            text,
            max_age=LIFETIME,
            path=PATH,
            secure=request.is_secure,
            httponly=True,
            samesite="Lax",
        )
        return response


def take(state: str) -> Flow:
    """The sign-in of this browser with this state. It can be taken once. Raises StaleSignIn."""
    content = decrypt_text(request.cookies.get(name_of(state), ""), current_keys().all())
    if content is None:
        raise StaleSignIn
    flow = Flow(*json.loads(content))
    if flow.state != state or flow.until < now().timestamp():
        raise StaleSignIn
    if not use_once(db.session, "state", state, LIFETIME):  # also with a copy of the cookie
        raise StaleSignIn

    @after_this_request
    def forget(response: Response) -> Response:
        response.delete_cookie(name_of(state), path=PATH, secure=request.is_secure, httponly=True)
        return response

    return flow


def name_of(state: str) -> str:
    digest = hashlib.sha256(state.encode("utf-8", "replace")).hexdigest()
    return secure_cookie(COOKIE + digest[:16])
