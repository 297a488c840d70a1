"""Invitations: an admin creates a one-time address, and its reader creates an account."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets

from sqlalchemy import select, update

from app.accounts.models import Invitation, User
from app.accounts.services import UNKNOWN_PROFILE, Profile, store_user, written_email
from app.audit.services import Object, record
from app.core.clock import now
from app.core.errors import WaypostError
from app.core.extensions import db

GOOD_FOR = dt.timedelta(days=7)
OPEN, USED, REVOKED, EXPIRED, UNKNOWN = "open", "used", "revoked", "expired", "unknown"


class InvitationClosed(WaypostError):
    """An invitation that can't be used (any more); `state` says why."""

    def __init__(self, state: str) -> None:
        super().__init__()
        self.state = state


def invite(admin: User, *, email: str = "", is_admin: bool = False) -> tuple[Invitation, str]:
    """Creates an invitation. Its token is returned only here, since it is not stored. Does not commit."""
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
    """The open invitation with this token. Raises Over."""
    row: Invitation | None = db.session.scalar(select(Invitation).where(Invitation.digest == digest(token)))
    state = UNKNOWN if row is None else state_of(row)
    if row is None or state != OPEN:
        raise InvitationClosed(state)
    return row


def state_of(row: Invitation) -> str:
    """The state of an invitation; one by a user who is no longer an active admin counts as revoked."""
    if row.used_datetime is not None:
        return USED
    admin = db.session.get_one(User, row.user_id)
    if row.revoked_datetime is not None or not (admin.is_admin and admin.is_active):
        return REVOKED
    return OPEN if row.expires_datetime > now() else EXPIRED


def accept(token: str, email: str, password_hash: str, profile: Profile = UNKNOWN_PROFILE) -> User:
    """Creates the account that the invitation is for. Exactly one concurrent call wins.

    Raises Over, and Invalid if there is an account with this e-mail address (roll back then: the invitation
    stays open). The caller has begun the write, and commits.
    """
    mine = Invitation.digest == digest(token), Invitation.used_datetime.is_(None)
    find(token)
    used = update(Invitation).where(*mine).values(used_datetime=now()).returning(Invitation.id)
    row_id = db.session.scalar(used, execution_options={"synchronize_session": False})
    if row_id is None:
        raise InvitationClosed(USED)
    row = db.session.get_one(Invitation, row_id, populate_existing=True)
    if row.revoked_datetime is not None:
        raise InvitationClosed(REVOKED)
    # only the invited address is verified: any other was typed freely, which proves nothing
    is_invited = bool(row.email) and written_email(row.email) == written_email(email)
    user = store_user(email, password_hash, profile, is_admin=row.is_admin, is_verified=is_invited)
    row.account_id = user.id
    db.session.flush()
    return user


def revoke(row: Invitation) -> None:
    """Revokes the invitation: it can't be used from now on."""
    if row.revoked_datetime is None:
        record(db.session, "invitation.revoked", on=object_of(row))
    row.revoked_datetime = row.revoked_datetime or now()
    db.session.flush()


def open_ones() -> list[Invitation]:
    """Invitations that can still be used, the newest first."""
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
