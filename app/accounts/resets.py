"""How does somebody who has forgotten a password come by a new one?"""

from __future__ import annotations

import datetime as dt
import secrets

from sqlalchemy import delete, select

from app.accounts.models import PasswordRequest, PasswordReset, User
from app.accounts.services import store_password
from app.accounts.sessions import digest
from app.clock import now
from app.database import AnySession, begin_write
from app.extensions import db

GOOD_FOR = dt.timedelta(hours=1)


def request(email: str) -> None:
    """Somebody asks for an account with this address, whether there is one or not. Does not commit."""
    db.session.add(PasswordRequest(email=email))
    db.session.flush()


def ask(session: AnySession, user: User) -> str:
    """A token that is good once; none before it is any more. Does not commit."""
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
    """Whose token this is, while it is good: until it is used, or another password is set, or an hour."""
    mine = PasswordReset.digest == digest(token), PasswordReset.expires_datetime > now()
    joined = select(User).join(PasswordReset, PasswordReset.user_id == User.id)
    user = db.session.scalar(joined.where(*mine, PasswordReset.version == User.session_version))
    return user if user and user.is_active else None


def use(token: str, password_hash: str) -> User | None:
    """Set the password; of any number at once one does. Inside a write. None where it is good no more."""
    user = find(token)
    mine = PasswordReset.digest == digest(token)
    gone = db.session.scalar(delete(PasswordReset).where(mine).returning(PasswordReset.user_id))
    if user is None or gone is None:
        return None
    user.verified_email = user.email  # the token was mailed there, and goes with another address
    store_password(user, password_hash)
    return user


def sweep(session: AnySession) -> None:
    begin_write(session)
    session.execute(delete(PasswordReset).where(PasswordReset.expires_datetime <= now()))
    session.commit()
