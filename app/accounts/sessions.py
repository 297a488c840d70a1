"""Sessions: the browsers in which a user is signed in, and when each session expires."""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import secrets

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import joinedload

from app.accounts.models import User, UserSession
from app.core.clock import now
from app.core.database import AnySession, begin_write, impatient
from app.core.extensions import db

DEFAULT_LIFETIME = dt.timedelta(days=30)  # since the sign-in, however often the session is used
REMEMBERED = dt.timedelta(days=30)  # since the last use
OTHERWISE = dt.timedelta(days=1)  # the cookie ends when the browser is closed, which may be never
SEEN_EVERY = dt.timedelta(minutes=5)

log = logging.getLogger(__name__)


def begin(
    user: User,
    *,
    browser: str = "",
    system: str = "",
    is_remembered: bool = False,
    lifetime: dt.timedelta = DEFAULT_LIFETIME,
    signed_in: dt.datetime | None = None,
    password_typed: dt.datetime | None = None,
) -> str:
    """Begins a session. Its token is returned only here, since it is not stored. Does not commit.

    `signed_in` and `password_typed`: the times of these, if not just now.
    """
    token = secrets.token_urlsafe(32)
    began = signed_in or now()
    row = UserSession(
        user_id=user.id,
        digest=digest(token),
        version=user.session_version,
        browser=browser[:64],
        system=system[:64],
        is_remembered=is_remembered,
        datetime=began,
        password_datetime=password_typed or now(),
        expires_datetime=expiry(began, lifetime, is_remembered=is_remembered),
    )
    user.seen_datetime = now()
    db.session.add(row)
    db.session.flush()
    return token


def expiry(began: dt.datetime, lifetime: dt.timedelta, *, is_remembered: bool) -> dt.datetime:
    """When the session expires: some time after this use, at the latest `lifetime` after the sign-in."""
    return min(now() + lasting(is_remembered=is_remembered), began + lifetime)


def lasting(*, is_remembered: bool) -> dt.timedelta:
    return REMEMBERED if is_remembered else OTHERWISE


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def find(token: str, lifetime: dt.timedelta = DEFAULT_LIFETIME) -> UserSession | None:
    """The session with this token, and its user, while both are active."""
    mine = UserSession.digest == digest(token), *are_good(lifetime)
    row = db.session.scalar(select(UserSession).where(*mine).options(joinedload(UserSession.user)))
    return row if row and row.user.is_active and row.version == row.user.session_version else None


def are_good(lifetime: dt.timedelta) -> tuple[ColumnElement[bool], ...]:
    """Conditions of unexpired sessions. Checks the sign-in too: `lifetime` may have been longer before."""
    return UserSession.expires_datetime > now(), UserSession.datetime > now() - lifetime


def note_use(row: UserSession, lifetime: dt.timedelta = DEFAULT_LIFETIME) -> bool:
    """Extends the session after a use; returns whether that was written.

    It is written at most every 5 minutes. If the database is busy, the next use tries again.
    """
    if now() - row.last_datetime < SEEN_EVERY:
        return False
    seen = {
        "last_datetime": now(),
        "expires_datetime": expiry(row.datetime, lifetime, is_remembered=row.is_remembered),
    }
    before = UserSession.last_datetime == row.last_datetime
    try:
        with db.engine.connect() as connection, impatient(connection):
            connection.execute(update(UserSession).where(UserSession.id == row.id, before).values(**seen))
            connection.execute(update(User).where(User.id == row.user_id).values(seen_datetime=now()))
            connection.commit()
    except SQLAlchemyError as error:
        log.warning("the last use of session %d is not written yet: %s", row.id, error)
        return False
    return True


def note_password(row: UserSession) -> str:
    """Notes that the password was typed just now; returns the session's new token. Commits.

    The old token becomes invalid, so that a copied one does not gain from the typed password.
    """
    token = secrets.token_urlsafe(32)
    begin_write(db.session)
    values = {"password_datetime": now(), "digest": digest(token)}
    db.session.execute(update(UserSession).where(UserSession.id == row.id).values(**values))
    db.session.commit()
    return token


def list_sessions(user: User, lifetime: dt.timedelta = DEFAULT_LIFETIME) -> list[UserSession]:
    """The user's active sessions, the last used first."""
    mine = UserSession.user_id == user.id, UserSession.version == user.session_version
    good = select(UserSession).where(*mine, *are_good(lifetime))
    return list(db.session.scalars(good.order_by(UserSession.last_datetime.desc(), UserSession.id.desc())))


def end(row: UserSession) -> None:
    db.session.execute(delete(UserSession).where(UserSession.id == row.id))


def end_others(row: UserSession) -> int:
    """Ends all sessions of this user but `row`; returns how many they were."""
    others = UserSession.user_id == row.user_id, UserSession.id != row.id
    return len(db.session.scalars(delete(UserSession).where(*others).returning(UserSession.id)).all())


def sweep(session: AnySession) -> None:
    """Deletes expired sessions."""
    begin_write(session)
    session.execute(delete(UserSession).where(UserSession.expires_datetime <= now()))
    session.commit()
