"""One-time addresses: to set a new password, sent by mail, and to sign in, printed by the operator."""

from __future__ import annotations

import datetime as dt
import secrets

from sqlalchemy import delete, select

from app.accounts.models import OneTimeAddress, PasswordRequest, PasswordReset, SignInLink, User
from app.accounts.services import store_password
from app.accounts.sessions import digest
from app.audit.services import record
from app.core.clock import now
from app.core.database import AnySession, begin_write
from app.core.extensions import db

Kind = type[OneTimeAddress]

LIFETIMES: dict[Kind, dt.timedelta] = {
    PasswordReset: dt.timedelta(hours=1),
    SignInLink: dt.timedelta(minutes=15),
}


def request_reset(email: str) -> None:
    """Stores a reset request for this address, whether it has an account or not. Does not commit."""
    db.session.add(PasswordRequest(email=email))
    db.session.flush()


def make_reset(session: AnySession, user: User) -> str:
    """Creates a one-time token; the user's earlier one becomes invalid. Does not commit."""
    return make_token(session, PasswordReset, user)


def make_sign_in_link(user: User) -> str:
    """A new token; the user's earlier one becomes invalid. It is returned only here. Does not commit."""
    token = make_token(db.session, SignInLink, user)
    record(db.session, "sign_in_link.created", account=user)
    return token


def make_token(session: AnySession, kind: Kind, user: User) -> str:
    token = secrets.token_urlsafe(32)
    session.execute(delete(kind).where(kind.user_id == user.id))
    expires = now() + LIFETIMES[kind]
    row = kind(user_id=user.id, digest=digest(token), version=user.session_version, expires_datetime=expires)
    session.add(row)
    session.flush()
    return token


def find_user(kind: Kind, token: str) -> User | None:
    """The user of this token; None once it was used or has expired, or all sessions of the user were ended,
    as by another password."""
    mine = kind.digest == digest(token), kind.expires_datetime > now()
    joined = select(User).join(kind, kind.user_id == User.id)
    user = db.session.scalar(joined.where(*mine, kind.version == User.session_version))
    return user if user and user.is_active else None


def use_token(kind: Kind, token: str) -> User | None:
    """The user of this token, which is used up. Exactly one concurrent call wins. The caller has begun the
    write, and commits."""
    user = find_user(kind, token)
    mine = kind.digest == digest(token)
    gone = db.session.scalar(delete(kind).where(mine).returning(kind.user_id))
    return user if gone is not None else None


def use_reset(token: str, password_hash: str) -> User | None:
    """Sets the password. Exactly one concurrent call wins; None if the token is used or expired.

    The caller has begun the write.
    """
    user = use_token(PasswordReset, token)
    if user is not None:
        user.verified_email = user.email  # the token was mailed there; a change of address deletes the token
        store_password(user, password_hash)
    return user


def sweep(session: AnySession, kind: Kind) -> None:
    """Deletes expired addresses."""
    begin_write(session)
    session.execute(delete(kind).where(kind.expires_datetime <= now()))
    session.commit()
