"""Standing of accounts: admin or not; active, disabled or deleted.

An instance always keeps an admin: a change that would remove the last one is refused, also when two such
changes run at once.
"""

# see docs/decisions/2026-11-21-people.md
from __future__ import annotations

import datetime as dt

from sqlalchemy import exists, select

from app.accounts.models import User
from app.accounts.services import one_at_a_time
from app.audit.services import record
from app.core.clock import now
from app.core.database import reread
from app.core.errors import FieldError, Invalid, NotFound
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l

RETENTION = dt.timedelta(days=30)  # of a deleted account, with all that is the user's
LAST_ADMIN = _l("This is the last admin. Make another user admin first.")


class LastAdmin(Invalid):
    """The instance would be left without an admin."""

    def __init__(self) -> None:
        super().__init__(FieldError(LAST_ADMIN, "last_admin"))


def state_of(user: User) -> str:
    """`active`, `disabled` or `deleted`."""
    if user.deleted_datetime is not None:
        return "deleted"
    return "active" if user.disabled_datetime is None else "disabled"


def gone_from(user: User) -> dt.datetime | None:
    """When a deleted user is due to be purged."""
    return user.deleted_datetime and user.deleted_datetime + RETENTION


def is_over(user: User) -> bool:
    return user.deleted_datetime is not None and user.deleted_datetime <= now() - RETENTION


def hold(user: User) -> None:
    """Rereads the row, and holds a lock: no other transaction changes who is admin until this one ends."""
    one_at_a_time()
    reread(db.session, user)
    if is_over(user):
        raise NotFound("user")


def make_admin(user: User) -> None:
    """Makes the user an admin. Raises Invalid for one who may not sign in."""
    hold(user)
    if not user.is_active:
        raise Invalid(FieldError(_l("Only users who can sign in can be admins."), "not_active"))
    if not user.is_admin:
        record(db.session, "user.made_admin", account=user)
    user.is_admin = True
    db.session.flush()


def unmake_admin(user: User) -> None:
    """Makes the user no admin any more. Raises LastAdmin."""
    hold(user)
    if user.is_admin:
        require_another_admin(user)
        record(db.session, "user.unmade_admin", account=user)
    user.is_admin = False
    db.session.flush()


def disable(user: User) -> None:
    """Disables the account: no session or key works until `enable`; links keep working. Raises LastAdmin."""
    hold(user)
    if user.is_admin and user.is_active:
        require_another_admin(user)
    if user.disabled_datetime is None:
        record(db.session, "user.disabled", account=user)
    user.disabled_datetime = user.disabled_datetime or now()
    end_sessions(user)


def enable(user: User) -> None:
    hold(user)
    if user.disabled_datetime is not None:
        record(db.session, "user.enabled", account=user)
    user.disabled_datetime = None
    db.session.flush()


def end_sessions(user: User) -> None:
    user.session_version = User.session_version + 1
    db.session.flush()


def require_another_admin(user: User) -> None:
    active = User.disabled_datetime.is_(None), User.deleted_datetime.is_(None)
    if not db.session.scalar(select(exists().where(User.is_admin, *active, User.id != user.id))):
        raise LastAdmin


def has_company(user: User) -> bool:
    """Whether there is another account that is not deleted."""
    others = User.deleted_datetime.is_(None), User.id != user.id
    return bool(db.session.scalar(select(exists().where(*others))))
