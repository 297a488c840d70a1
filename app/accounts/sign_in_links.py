"""One-time addresses to sign in with, which the operator prints on the machine."""

from __future__ import annotations

import datetime as dt
import secrets

from sqlalchemy import delete, select

from app.accounts.models import SignInLink, User
from app.accounts.sessions import digest
from app.audit.services import record
from app.core.clock import now
from app.core.database import AnySession, begin_write
from app.core.extensions import db

GOOD_FOR = dt.timedelta(minutes=15)


def create(user: User) -> str:
    """A new token; the user's earlier one becomes invalid. It is returned only here. Does not commit."""
    token = secrets.token_urlsafe(32)
    db.session.execute(delete(SignInLink).where(SignInLink.user_id == user.id))
    db.session.add(
        SignInLink(
            user_id=user.id,
            digest=digest(token),
            version=user.session_version,
            expires_datetime=now() + GOOD_FOR,
        )
    )
    db.session.flush()
    record(db.session, "sign_in_link.created", account=user)
    return token


def find(token: str) -> User | None:
    """The user of this token; None once it was used, all sessions were ended, or 15 minutes have passed."""
    mine = SignInLink.digest == digest(token), SignInLink.expires_datetime > now()
    joined = select(User).join(SignInLink, SignInLink.user_id == User.id)
    user = db.session.scalar(joined.where(*mine, SignInLink.version == User.session_version))
    return user if user and user.is_active else None


def use(token: str) -> User | None:
    """The user of this token, which is used up. Exactly one concurrent call wins. The caller has begun the
    write, and commits."""
    user = find(token)
    mine = SignInLink.digest == digest(token)
    gone = db.session.scalar(delete(SignInLink).where(mine).returning(SignInLink.user_id))
    return user if gone is not None else None


def sweep(session: AnySession) -> None:
    """Deletes expired addresses."""
    begin_write(session)
    session.execute(delete(SignInLink).where(SignInLink.expires_datetime <= now()))
    session.commit()
