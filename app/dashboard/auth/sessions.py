"""Session cookie of a signed-in user: name, signature and lifetime; sign-in and sign-out."""

# see docs/decisions/2026-11-20-sessions.md
from __future__ import annotations

import datetime as dt
import hashlib
from typing import NamedTuple

from flask import Flask, Request, Response, after_this_request, g, request, session
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface, SessionMixin
from flask_login import current_user, login_user, logout_user
from itsdangerous import URLSafeTimedSerializer

from app.accounts import sessions
from app.accounts.deletion import leaving
from app.accounts.models import User, UserSession
from app.accounts.oidc import identities
from app.accounts.oidc.person import ProviderPerson
from app.accounts.oidc.roles import apply_roles
from app.accounts.sessions import REMEMBERED
from app.audit.services import record
from app.core.actor import act_as
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db, login
from app.core.secret_keys.ring import current_keys, flask_settings
from app.dashboard.auth.access import actor_of
from app.dashboard.auth.rate_limits import remember_browser
from app.dashboard.shared.page_headers import is_secure
from app.i18n.messages import lazy_gettext as _l
from app.redirects.user_agent import parse_device
from app.web import application
from app.web.security_headers import host_cookie, is_api

NEVER = dt.datetime.fromtimestamp(0, dt.UTC)  # when a provider proved who is there that does not say
PENDING_SIGN_IN, PENDING_LIFETIME = "half_signed_in", dt.timedelta(minutes=10)
TOO_LATE = _l("The code did not come within 10 minutes. Sign in once more.")
CHANGED = _l("Something about this account has changed meanwhile. Sign in once more.")


class SchemeSessions(SecureCookieSessionInterface):
    """Names the cookie `__Host-` on https: bound to this host, and nothing sent over http can replace it.

    Decided with each request, for behind a proxy only the request knows its scheme.
    """

    digest_method = staticmethod(hashlib.sha256)

    def get_signing_serializer(self, app: Flask) -> URLSafeTimedSerializer | None:
        """With the current keys: a rotation of the secret key needs no restart."""
        app.config.update(flask_settings())
        return super().get_signing_serializer(app)

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """While the secret key is rotated, sign the cookie anew: its old key may be about to go.

        The API has no use for a session, and looks at no cookie.
        """
        if is_api(request.path):
            return self.session_class()
        found = super().open_session(app, request)
        if found and len(current_keys().all()) > 1:
            found.modified = True
        return found

    def should_set_cookie(self, app: Flask, session: SessionMixin) -> bool:  # noqa: ARG002
        """When it changed, and when its last use was written. Not with each response.

        A request that began before the password was typed again would put the old token back.
        """
        return session.modified or (session.permanent and g.get("is_session_extended", False))

    def get_cookie_name(self, app: Flask) -> str:  # noqa: ARG002  Flask's signature
        return host_cookie("waypost")

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
        PERMANENT_SESSION_LIFETIME=min(REMEMBERED, lifetime(app.config["WAYPOST"])),
    )
    login.user_loader(load)
    login.login_view = "accounts.login"
    login.session_protection = None  # the IP address of a phone changes, and none is kept


def lifetime(settings: Settings) -> dt.timedelta:
    """How long after the sign-in a session ends, however often it is used."""
    return dt.timedelta(days=settings.session_days)


def load(token: str) -> User | None:
    """The user of the session with this token. Makes it the session of the request."""
    longest = lifetime(application.settings())
    row = sessions.find(token, longest)
    if row is None:
        return None
    g.is_session_extended = sessions.note_use(row, longest)
    g.user_session = row
    return row.user


def this_one() -> UserSession:
    """The session of this request. There must be a signed-in user."""
    found: UserSession = g.user_session
    return found


def note_password() -> None:
    """Record that the password was typed just now: the session goes on with another token. Commits."""
    row = this_one()
    row.user.session_token = sessions.note_password(row)
    session["_user_id"] = row.user.get_id()


def list_own() -> list[UserSession]:
    """The valid sessions of the signed-in user, the last used first."""
    return sessions.list_sessions(this_one().user, lifetime(application.settings()))


def start(
    user: User,
    *,
    remember: bool = False,
    method: str | None = "password",
    signed_in: dt.datetime | None = None,
    password_typed: dt.datetime | None = None,
    person: ProviderPerson | None = None,
) -> None:
    """Sign this user in. Nothing of the browser's earlier session is kept.

    `remember`: for 30 days since the last visit; else until the browser is closed, and a day at most.
    `method`: how the user has signed in, for the audit log; None where an open session goes on. `signed_in`
    and `password_typed`: when that was, if it was not just now. `person`: whom the provider of single sign-on
    named; when they proved there who they are counts as the password.
    """
    session.clear()
    known = parse_device(request.headers.get("User-Agent", ""))
    begin_write(db.session)
    if person is not None:
        password_typed = password_typed or min(person.proved or NEVER, now())
    user.session_token = sessions.begin(
        user,
        browser=known.browser_name,
        system=known.os_name,
        is_remembered=remember,
        lifetime=lifetime(application.settings()),
        signed_in=signed_in,
        password_typed=password_typed,
    )
    act_as(actor_of(user))
    if method is not None:
        record(db.session, "sign_in", account=user, method=method)
    if person is not None:
        note_person(user, person)
    db.session.commit()
    login_user(user)
    session.permanent = remember
    remember_browser(user)


def note_person(user: User, person: ProviderPerson) -> None:
    """Store what the provider says of this user, and that its logout ends this session. Does not commit."""
    changes = identities.note_sign_in(user, person)
    apply_roles(user, changes, leaving.remove_member, leaving.change_role)
    row = sessions.find(user.session_token)
    if row is not None:
        identities.note_session(row.id, user, person.issuer, person.sid)


def start_pending_sign_in(
    user: User,
    *,
    remember: bool,
    next_: str,
    person: ProviderPerson | None = None,
    links: bool = False,
    name: str = PENDING_SIGN_IN,
) -> None:
    """Begin a sign-in after the right password. It only opens the page that asks for the code.

    `person`: whom the provider named, and `links` whether the account is to be linked to them. `name`: of the
    step that waits.
    """
    session.clear()
    session[name] = {
        "user": user.id,
        "version": user.session_version,
        "until": int((now() + PENDING_LIFETIME).timestamp()),
        "remember": remember,
        "next": next_,
        "person": person,
        "links": links,
    }


class PendingSignIn(NamedTuple):
    """A sign-in that waits for a code: the user, whether to remember the browser, the page after it, and when
    the password was typed (None for a sign-in by the provider alone); the person whom the provider named, and
    whether to link the account to them.
    """

    user: User
    remember: bool
    next_: str
    password_typed: dt.datetime | None
    person: ProviderPerson | None = None
    links: bool = False


def read_pending_sign_in(name: str = PENDING_SIGN_IN) -> PendingSignIn | None:
    found = session.get(name)
    if not isinstance(found, dict) or found["until"] < now().timestamp():
        return None
    user = db.session.get(User, found["user"])
    if user is None or not user.is_active or user.session_version != found["version"]:
        return None
    typed = dt.datetime.fromtimestamp(found["until"], dt.UTC) - PENDING_LIFETIME
    person = ProviderPerson(*found["person"]) if found.get("person") else None
    links = bool(found.get("links"))
    if person and name == PENDING_SIGN_IN and not (links or identities.is_tied(user, person)):
        return None  # an admin has removed the link meanwhile
    is_typed = person is None or links
    return PendingSignIn(user, found["remember"], found["next"], typed if is_typed else None, person, links)


def forget_pending_sign_in(name: str = PENDING_SIGN_IN) -> tuple[str, str]:
    """Drop the pending sign-in. Returns why it ended, and the page after it; "" for both without one."""
    found = session.pop(name, None)
    if not isinstance(found, dict):
        return "", ""
    return TOO_LATE if found["until"] < now().timestamp() else CHANGED, found["next"]


def is_of_provider() -> bool:
    """Whether the provider of single sign-on began this session."""
    return this_one().id in identities.sessions_of(current_user)


def end() -> None:
    """Sign out, and end the session itself: a copy of the cookie is worth nothing any more."""
    if current_user.is_authenticated:
        begin_write(db.session)
        sessions.end(this_one())
        record(db.session, "sign_out", account=current_user)
        db.session.commit()
    leave_browser()


def leave_browser() -> None:
    """End the session in this browser, and have it clear its cache and storage.

    `"cookies"` is left out: it would also take those of every other host of the same domain, and the cookie
    by which this browser is known here. Browsers obey the header in secure contexts only.
    """
    logout_user()
    session.clear()

    @after_this_request
    def clear(response: Response) -> Response:
        if is_secure():
            response.headers["Clear-Site-Data"] = '"cache", "storage"'
        return response


def renew(user: User, signed_in: dt.datetime) -> None:
    """Start this session again after a new password ended it, for as long as it would have lasted."""
    # the row itself: `current_user` is a proxy, which `login_user` would make refer to itself
    row = db.session.get_one(User, user.id)
    start(row, remember=session.permanent, method=None, signed_in=signed_in)
