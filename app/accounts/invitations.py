"""How does somebody come by an account: whom did an admin invite, and is an address still good?"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets

from sqlalchemy import select, update

from app.accounts.models import Invitation, User
from app.accounts.services import store_user, written_email
from app.audit.services import Object, record
from app.clock import now
from app.errors import WaypostError
from app.extensions import db

GOOD_FOR = dt.timedelta(days=7)
OPEN, USED, REVOKED, EXPIRED, UNKNOWN = "open", "used", "revoked", "expired", "unknown"


class Over(WaypostError):
    """An address that opens nothing (any more); `state` says why."""

    def __init__(self, state: str) -> None:
        super().__init__()
        self.state = state


def invite(admin: User, *, email: str = "", is_admin: bool = False) -> tuple[Invitation, str]:
    """An invitation and its token, which nothing keeps: it can be shown now or never. Does not commit."""
    token = secrets.token_urlsafe(32)
    row = Invitation(
        user_id=admin.id,
        digest=digest(token),
        email=email,
        is_admin=is_admin,
        expires_datetime=now() + GOOD_FOR,
    )
    db.session.add(row)
    db.session.flush()
    record(db.session, "invitation.created", on=object_of(row), is_admin=is_admin)
    return row, token


def object_of(row: Invitation) -> Object:
    return Object("invitation", row.id, row.email)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def find(token: str) -> Invitation:
    """The invitation of this token, which is open. Raises Over."""
    row: Invitation | None = db.session.scalar(select(Invitation).where(Invitation.digest == digest(token)))
    state = UNKNOWN if row is None else state_of(row)
    if row is None or state != OPEN:
        raise Over(state)
    return row


def state_of(row: Invitation) -> str:
    """What an admin made who is none any more opens nothing."""
    if row.used_datetime is not None:
        return USED
    admin = db.session.get_one(User, row.user_id)
    if row.revoked_datetime is not None or not (admin.is_admin and admin.is_active):
        return REVOKED
    return OPEN if row.expires_datetime > now() else EXPIRED


def accept(token: str, email: str, password_hash: str, name: str) -> User:
    """The account that the invitation is for; of any number at once, one gets it. Raises Over, and Invalid
    where there is an account with this e-mail address (the invitation then stays open: roll back).

    The caller has begun the write, and commits.
    """
    mine = Invitation.digest == digest(token), Invitation.used_datetime.is_(None)
    find(token)
    used = update(Invitation).where(*mine).values(used_datetime=now()).returning(Invitation.id)
    row_id = db.session.scalar(used, execution_options={"synchronize_session": False})
    if row_id is None:
        raise Over(USED)
    row = db.session.get_one(Invitation, row_id, populate_existing=True)
    if row.revoked_datetime is not None:
        raise Over(REVOKED)
    # who could choose any address has proved none
    is_invited = bool(row.email) and written_email(row.email) == written_email(email)
    user = store_user(email, password_hash, name=name, is_admin=row.is_admin, is_verified=is_invited)
    row.account_id = user.id
    db.session.flush()
    return user


def revoke(row: Invitation) -> None:
    """From now on it opens nothing."""
    if row.revoked_datetime is None:
        record(db.session, "invitation.revoked", on=object_of(row))
    row.revoked_datetime = row.revoked_datetime or now()
    db.session.flush()


def open_ones() -> list[Invitation]:
    """The newest first."""
    query = (
        select(Invitation)
        .join(User, User.id == Invitation.user_id)
        .where(
            Invitation.used_datetime.is_(None),
            Invitation.revoked_datetime.is_(None),
            Invitation.expires_datetime > now(),
            User.is_admin,
            User.disabled_datetime.is_(None),
            User.deleted_datetime.is_(None),
        )
    )
    return list(db.session.scalars(query.order_by(Invitation.id.desc())))
