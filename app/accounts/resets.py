"""Password resets: requests, one-time tokens and their use."""

from __future__ import annotations

import datetime as dt
import secrets

from sqlalchemy import delete, select

from app.accounts.models import PasswordRequest, PasswordReset, User
from app.accounts.services import store_password
from app.accounts.sessions import digest
from app.core.clock import now
from app.core.database import AnySession, begin_write
from app.core.extensions import db

GOOD_FOR = dt.timedelta(hours=1)


def request(email: str) -> None:
    """Stores a reset request for this address, whether it has an account or not. Does not commit."""
    db.session.add(PasswordRequest(email=email))
    db.session.flush()


def ask(session: AnySession, user: User) -> str:
    """Creates a one-time token; the user's earlier tokens become invalid. Does not commit."""
    token = secrets.token_urlsafe(32)
    session.execute(delete(PasswordReset).where(PasswordReset.user_id == user.id))
    row = PasswordReset(
        user_id=user.id,
        digest=digest(token),
        version=user.session_version,
        expires_datetime=now() + GOOD_FOR,
    )
    session.add(row)
    session.flush()
    return token


def find(token: str) -> User | None:
    """The user of this token; None once it was used, another password was set, or an hour has passed."""
    mine = PasswordReset.digest == digest(token), PasswordReset.expires_datetime > now()
    joined = select(User).join(PasswordReset, PasswordReset.user_id == User.id)
    user = db.session.scalar(joined.where(*mine, PasswordReset.version == User.session_version))
    return user if user and user.is_active else None


def use(token: str, password_hash: str) -> User | None:
    """Sets the password. Exactly one concurrent call wins; None if the token is used or expired.

    The caller has begun the write.
    """
    user = find(token)
    mine = PasswordReset.digest == digest(token)
    gone = db.session.scalar(delete(PasswordReset).where(mine).returning(PasswordReset.user_id))
    if user is None or gone is None:
        return None
    user.verified_email = user.email  # the token was mailed there; a change of address deletes the token
    store_password(user, password_hash)
    return user


def sweep(session: AnySession) -> None:
    begin_write(session)
    session.execute(delete(PasswordReset).where(PasswordReset.expires_datetime <= now()))
    session.commit()
