"""Who uses this instance, from which browsers, with which second factor, and with which API keys?"""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask_login import UserMixin
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.clock import now
from app.database import Id, UtcDateTime
from app.extensions import db
from app.sealing import SealedJson


class User(UserMixin, db.Model):
    """A person with an account. `email` is kept in lower case, for it is what one signs in with."""

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    email: Mapped[str] = mapped_column(String(320), unique=True)
    # the address that is known to be this user's: by a mail that was read, or by the operator's word
    verified_email: Mapped[str | None] = mapped_column(String(320))
    password_hash: Mapped[str] = mapped_column(String(255))
    name: Mapped[str] = mapped_column(String(128), default="")
    timezone: Mapped[str] = mapped_column(String(64), default="UTC")
    language: Mapped[str] = mapped_column(String(16), default="en")
    is_admin: Mapped[bool] = mapped_column(default=False)
    # how often links are reported on, at which hour of the time zone, and since when it is that often
    report_period: Mapped[str] = mapped_column(String(16), default="weekly")
    report_hour: Mapped[int] = mapped_column(default=8)
    report_since: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
    checks_destinations: Mapped[bool] = mapped_column(default=False)
    # an admin has shut the user out; the links go on
    disabled_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # from then on there is nothing of the user for anybody, and 30 days later nothing at all
    deleted_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime, index=True)
    # the last use of any session, for those that are over are forgotten; keys know their own
    seen_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # raised to end every session of the user at once
    session_version: Mapped[int] = mapped_column(default=1)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    keys: Mapped[list[ApiKey]] = relationship(back_populates="user", cascade="all, delete-orphan")

    @property
    def is_active(self) -> bool:
        """May this user come in, by whatever way? (Flask-Login's name, which it asks for, too.)"""
        return self.disabled_datetime is None and self.deleted_datetime is None

    def is_own_address(self, email: str) -> bool:
        """Is this the address of the account, and verified?"""
        return self.email == self.verified_email == email.strip().lower()

    # what the cookie holds of the session that begins with this object; no column
    session_token = ""

    def get_id(self) -> str:
        return self.session_token


class UserSession(db.Model):
    """A browser in which somebody is signed in: only its token's SHA-256 is stored, and no address.

    `version`: the user's when it began. `browser` and `system` as its agent tells them, "" where it does not.
    `datetime`: of the sign-in. `password_datetime`: when the password was last typed in it.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    version: Mapped[int]
    browser: Mapped[str] = mapped_column(String(64), default="")
    system: Mapped[str] = mapped_column(String(64), default="")
    is_remembered: Mapped[bool] = mapped_column(default=False)
    password_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    last_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
    expires_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, index=True)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    user: Mapped[User] = relationship()


class SecondFactor(db.Model):
    """What a user's authenticator app was given; asked for at the sign-in once `confirmed_datetime` is set.

    `last_step`: the 30 seconds of the last code that was taken. None before it opens anything again.
    """

    user_id: Mapped[int] = mapped_column(
        ForeignKey("user.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    settings: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    last_step: Mapped[int] = mapped_column(Id, default=0)
    confirmed_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class RecoveryCode(db.Model):
    """Opens the second door once where the app is lost. Only its argon2id hash is stored.

    The codes of one set have one salt, so that one hash tells whether a text is among them.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    digest: Mapped[str] = mapped_column(String(255), unique=True)
    used_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)


class PasswordRequest(db.Model):
    """Somebody has forgotten the password of the account with this address, if there is one: the worker sees.

    No user is named: the row is written, and looks, the same for an address that nobody here has.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    email: Mapped[str] = mapped_column(String(320))
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class PasswordReset(db.Model):
    """A one-time address for a new password: the newest of a user, its token's SHA-256 alone."""

    user_id: Mapped[int] = mapped_column(
        ForeignKey("user.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    version: Mapped[int]
    expires_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, index=True)


class Invitation(db.Model):
    """A one-time address by which somebody makes an account: only its token's SHA-256 is stored.

    `email`: whom it is for, or "" where the admin passes it on. `account_id`: who came of it.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    email: Mapped[str] = mapped_column(String(320), default="")
    is_admin: Mapped[bool] = mapped_column(default=False)
    expires_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime)
    used_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"))
    revoked_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class ApiKey(db.Model):
    """A key to the API: only its SHA-256 is stored, and its first 11 characters to tell it by."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(128))
    prefix: Mapped[str] = mapped_column(String(11), index=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    scope: Mapped[str] = mapped_column(String(8), default="write")
    expires_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    revoked_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    user: Mapped[User] = relationship(back_populates="keys")
