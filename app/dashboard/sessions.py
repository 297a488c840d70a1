"""Which cookie carries an owner's session, and how long is it good?"""

from __future__ import annotations

import datetime as dt

from flask import Flask, request, session
from flask.sessions import SecureCookieSessionInterface
from flask_login import login_user

from app.accounts.models import User
from app.accounts.services import find_by_session
from app.extensions import db, login

REMEMBERED = dt.timedelta(days=30)


class SchemeSessions(SecureCookieSessionInterface):
    """On https the cookie is `__Host-`: bound to this host, and nothing sent over http can replace it.

    Decided with each request, for behind a proxy only the request knows its scheme.
    """

    def get_cookie_name(self, app: Flask) -> str:  # noqa: ARG002  Flask's signature
        return "__Host-waypost" if request.is_secure else "waypost"

    def get_cookie_secure(self, app: Flask) -> bool:  # noqa: ARG002
        return request.is_secure

    def get_cookie_path(self, app: Flask) -> str:  # noqa: ARG002  `__Host-` allows no other
        return "/"

    def get_cookie_domain(self, app: Flask) -> str | None:  # noqa: ARG002
        return None


def init_app(app: Flask) -> None:
    app.session_interface = SchemeSessions()
    app.config.update(
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=REMEMBERED,
    )
    login.user_loader(find_by_session)
    login.login_view = "accounts.login"
    login.session_protection = None  # a phone's address changes, and no address is kept


def start(user: User, *, remember: bool = False) -> None:
    """Sign this user in, with nothing taken over of what this browser was before.

    `remember`: for 30 days since the last visit; else until the browser is closed.
    """
    session.clear()
    login_user(user)
    session.permanent = remember


def renew(user: User) -> None:
    """After a new password, which ended this session too: go on as before, for as long as before."""
    # the row itself: `current_user` is a proxy, which would come to stand for itself
    start(db.session.get_one(User, user.id), remember=session.permanent)
