"""Creates, authenticates and changes accounts."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import delete, exists, func, select, text, update

from app.accounts import passwords, workspaces
from app.accounts.models import PasswordReset, User
from app.audit.services import record
from app.core.clock import now
from app.core.database import begin_write
from app.core.errors import FieldError, Forbidden, Invalid
from app.core.extensions import db
from app.i18n.languages import DEFAULT
from app.i18n.messages import lazy_gettext as _l

# any number that no other use of PostgreSQL's advisory locks has
FIRST_USER_LOCK = 0x57415950


class Profile(NamedTuple):
    """What a new account knows of its user."""

    name: str = ""
    timezone: str = "UTC"
    language: str = DEFAULT


UNKNOWN_PROFILE = Profile()


class ShutOut(Forbidden):
    """The password is right, but the account is disabled or deleted."""

    def __init__(self, user: User) -> None:
        text = _l("This account is disabled. An admin can enable it again.")
        if user.deleted_datetime is not None:
            text = _l("This account was deleted. For 30 days an admin can restore it.")
        super().__init__(FieldError(text, "shut_out"))


class EmailTaken(Invalid):
    """Another account has this e-mail address."""

    def __init__(self) -> None:
        super().__init__(
            FieldError(_l("There is an account with this e-mail address already."), "taken", "email")
        )


def store_user(
    email: str,
    password_hash: str,
    profile: Profile = UNKNOWN_PROFILE,
    *,
    is_admin: bool | None = None,
    is_verified: bool = True,
) -> User:
    """Creates an account; the very first one is always admin. Raises Invalid if the address is taken.

    Does not commit. On SQLite the caller has begun the write wherever others may write at the same time, and
    has hashed the password before.

    `is_verified`: the address is known to be the user's: the operator set it, or a mail sent there was read.
    """
    one_at_a_time()
    if find_user(email):
        raise EmailTaken()
    user = User(email=written_email(email), password_hash=password_hash, **profile._asdict())
    user.verified_email = user.email if is_verified else None
    user.is_admin = bool(is_admin) or not has_users()
    db.session.add(user)
    db.session.flush()
    workspaces.create_own(user)
    record(db.session, "user.created", account=user, is_admin=user.is_admin)
    return user


def one_at_a_time() -> None:
    """Holds a lock until this transaction ends, so that only one user is the first. (SQLite locks anyway.)"""
    if db.engine.dialect.name == "postgresql":
        db.session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": FIRST_USER_LOCK})


def has_users() -> bool:
    """Whether there is any account that is not deleted."""
    return bool(db.session.scalar(select(exists().where(User.deleted_datetime.is_(None)))))


def find_user(email: str) -> User | None:
    return db.session.scalar(select(User).where(User.email == written_email(email)))


def written_email(email: str) -> str:
    """The address as it is stored and compared: in lower case, without spaces around it."""
    return email.strip().lower()


def list_users() -> list[User]:
    return list(db.session.scalars(select(User).order_by(User.id)))


def authenticate(email: str, password: str) -> User | None:
    """The user with this address and password. An unknown address takes as long as a wrong password, and so
    does an account without one.

    A hash with outdated parameters is renewed here; the caller commits that. Raises ShutOut, and only after
    the right password.
    """
    user = find_user(email)
    if user is None or not user.has_password:
        passwords.check_nothing(password)
        return None
    if not passwords.check_password(user.password_hash, password):
        return None
    if not user.is_active:
        raise ShutOut(user)
    if passwords.is_outdated(user.password_hash):
        renew_hash(user, password)
    return user


def renew_hash(user: User, password: str) -> None:
    """Hashes the same password with today's parameters, unless another was set meanwhile."""
    user_id, old, new = user.id, user.password_hash, passwords.hash_password(password)
    begin_write(db.session)
    mine = (User.id == user_id) & (User.password_hash == old)
    db.session.execute(update(User).where(mine).values(password_hash=new))


def store_password(user: User, password_hash: str) -> None:
    """Sets a new password, which ends every session of the user. It was hashed before the write began."""
    user.password_hash = password_hash
    user.session_version = User.session_version + 1
    db.session.flush()
    record(db.session, "password.changed", account=user)


def update_user(user: User, changes: dict[str, Any]) -> User:
    """Changes the account's data. Raises Invalid if the e-mail address is another account's.

    A new address deletes the password reset that was mailed to the old one.
    """
    if "email" in changes:
        changes = changes | {"email": written_email(changes["email"])}
        if taken_by_another(user, changes["email"]):
            raise Invalid(
                FieldError(_l("There is an account with this e-mail address already."), "taken", "email")
            )
        if user.email != changes["email"]:
            db.session.execute(delete(PasswordReset).where(PasswordReset.user_id == user.id))
            record(db.session, "email.changed", account=user, email=[user.email, changes["email"]])
    note_settings(user, changes)
    if changes.get("report_period", user.report_period) != user.report_period:
        user.report_since = now()  # earlier periods are not reported in the new rhythm
    for name, value in changes.items():
        setattr(user, name, value)
    db.session.flush()
    return user


def note_settings(user: User, changes: dict[str, Any]) -> None:
    """Record in the audit log which settings change. (The address has an action of its own.)"""
    pairs = {name: [getattr(user, name), value] for name, value in changes.items() if name != "email"}
    edited: dict[str, Any] = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    if edited:
        record(db.session, "user.updated", account=user, **edited)


def taken_by_another(user: User, email: str) -> bool:
    one_at_a_time()
    return bool(db.session.scalar(select(func.count()).where(User.email == email, User.id != user.id)))
