"""Tables of accounts and workspaces: users, sessions, second factors, members, invitations, API keys."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask_login import UserMixin
from sqlalchemy import JSON, ForeignKey, String, UniqueConstraint, false, true
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.clock import now
from app.core.database import Id, PersonalRow, UtcDateTime
from app.core.encryption import SealedJson
from app.core.extensions import db


class User(UserMixin, db.Model):
    """A person with an account. `email` is stored in lower case, because it is the sign-in name."""

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    email: Mapped[str] = mapped_column(String(320), unique=True)
    # the address known to be this user's: a mail sent there was read, or the operator set it
    verified_email: Mapped[str | None] = mapped_column(String(320))
    password_hash: Mapped[str] = mapped_column(String(255))
    name: Mapped[str] = mapped_column(String(128), default="")
    timezone: Mapped[str] = mapped_column(String(64), default="UTC")
    language: Mapped[str] = mapped_column(String(16), default="en")
    is_admin: Mapped[bool] = mapped_column(default=False)
    # how often reports on links are sent, at which hour of the time zone, and since when it is that often
    report_period: Mapped[str] = mapped_column(String(16), default="weekly")
    report_hour: Mapped[int] = mapped_column(default=8)
    report_since: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
    checks_destinations: Mapped[bool] = mapped_column(default=False)
    # whether the icons of new destinations are fetched for the list of links
    fetches_favicons: Mapped[bool] = mapped_column(default=True, server_default=true())
    # when an admin disabled the account; its links keep working
    disabled_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # from then on nothing of the user works or is shown; 30 days later everything is purged
    deleted_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime, index=True)
    # the last use of any session, kept here because ended sessions are deleted; keys store their own
    seen_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    # raised to end every session of the user at once
    session_version: Mapped[int] = mapped_column(default=1)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    keys: Mapped[list[ApiKey]] = relationship(back_populates="user", cascade="all, delete-orphan")

    @property
    def is_active(self) -> bool:
        """Whether this user may sign in or use a key. (Flask-Login reads this name, too.)"""
        return self.disabled_datetime is None and self.deleted_datetime is None

    @property
    def has_password(self) -> bool:
        """Whether there is one. An account that single sign-on made has none until a mail sets one."""
        return bool(self.password_hash)

    def is_own_address(self, email: str) -> bool:
        """Whether this is the account's address, and verified."""
        return self.email == self.verified_email == email.strip().lower()

    # the token that the cookie holds for the session begun with this object; no column
    session_token = ""

    def get_id(self) -> str:
        return self.session_token


class Workspace(db.Model):
    """What links, and all that is kept beside them, belong to. Users work in it as its members.

    Whoever had an account when workspaces came has one with the same id, so what was stored under the id of a
    user, single clicks above all, is the workspace's as it stands (docs/decisions/2026-11-25-workspaces.md).
    """

    __table_args__ = {"sqlite_autoincrement": True}  # clicks.db knows a workspace by its id alone

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    name: Mapped[str] = mapped_column(String(128))
    # from then on nothing in it works or is shown; 30 days later everything is purged
    deleted_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime, index=True)
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class WorkspaceMember(db.Model):
    """A user in a workspace, in a role: `owner`, `editor` or `viewer` (app/accounts/access.py)."""

    __table_args__ = (UniqueConstraint("workspace_id", "user_id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    role: Mapped[str] = mapped_column(String(16))
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    user: Mapped[User] = relationship()
    workspace: Mapped[Workspace] = relationship()


class WorkspaceInvitation(db.Model):
    """A one-time invitation into a workspace, for one address. Only its token's SHA-256 is stored.

    `user_id`: who invited. A row is deleted once it is accepted or withdrawn.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    email: Mapped[str] = mapped_column(String(320))
    role: Mapped[str] = mapped_column(String(16))
    expires_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    workspace: Mapped[Workspace] = relationship()


class UserSession(db.Model):
    """A browser in which a user is signed in. Only its token's SHA-256 is stored, and no IP address.

    `version`: the user's `session_version` when it began. `browser` and `system`: as in the user agent, ""
    where it names none. `datetime`: of the sign-in. `password_datetime`: when the password was last typed.
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
    """The secret of a user's authenticator app; required at the sign-in once `confirmed_datetime` is set.

    `last_step`: the 30-second step of the last accepted code. A code of that step or an earlier one is
    refused from then on.
    """

    user_id: Mapped[int] = mapped_column(
        ForeignKey("user.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    settings: Mapped[dict[str, Any]] = mapped_column(SealedJson)
    last_step: Mapped[int] = mapped_column(Id, default=0)
    confirmed_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class Passkey(db.Model):
    """A passkey of a user: a credential of WebAuthn, which names it by `credential_id`.

    `rp_id`: the host that the browser lets use it. `user_handle`: a random name of the account, the same for
    all passkeys of a user; the authenticator stores it. `last_challenge`: when the challenge of its last use
    was issued, in microseconds; a challenge of that moment or an earlier one is refused from then on.
    Bytes are stored as base64url.
    """

    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(64))
    credential_id: Mapped[str] = mapped_column(String(1364), unique=True)
    public_key: Mapped[str] = mapped_column(String(1400))
    user_handle: Mapped[str] = mapped_column(String(86))
    rp_id: Mapped[str] = mapped_column(String(253))
    sign_count: Mapped[int] = mapped_column(Id, default=0)
    last_challenge: Mapped[int] = mapped_column(Id, default=0)
    transports: Mapped[list[str]] = mapped_column(JSON, default=list)
    aaguid: Mapped[str] = mapped_column(String(36), default="")
    is_backup_eligible: Mapped[bool] = mapped_column(default=False)
    is_backed_up: Mapped[bool] = mapped_column(default=False)
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    user: Mapped[User] = relationship()


class RecoveryCode(db.Model):
    """A code that works once as the second factor when app or passkey is lost. Stored as its argon2id hash.

    The codes of one set share a salt, so that a single hash shows whether a text is among them.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    digest: Mapped[str] = mapped_column(String(255), unique=True)
    used_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)


class PasswordRequest(db.Model):
    """A request for a password reset, by e-mail address. The worker looks up whether there is an account.

    It names no user: an address without an account gets the same row, so the answer can't reveal accounts.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    email: Mapped[str] = mapped_column(String(320))
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class OneTimeAddress(db.Model):
    """A one-time address: one of a kind for each user, the newest. Only the SHA-256 is stored."""

    __abstract__ = True

    user_id: Mapped[int] = mapped_column(
        ForeignKey("user.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    version: Mapped[int]
    expires_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, index=True)


class PasswordReset(OneTimeAddress):
    """A one-time address to set a new password."""


class SignInLink(OneTimeAddress):
    """A one-time address to sign in with, printed by the operator."""


class Invitation(db.Model):
    """A one-time address to create an account. Only its token's SHA-256 is stored.

    `email`: the invited address, or "" where the admin passes the invitation on. `account_id`: the account
    created with it.
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


class ApiKey(PersonalRow, db.Model):
    """A key to the API, of one user in one workspace.

    Only its SHA-256 is stored, and its first 11 characters to recognize it by.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspace.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(128))
    prefix: Mapped[str] = mapped_column(String(11), index=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    scope: Mapped[str] = mapped_column(String(8), default="write")
    # the permission `members`
    changes_members: Mapped[bool] = mapped_column(default=False, server_default=false())
    expires_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    revoked_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    user: Mapped[User] = relationship(back_populates="keys")
    workspace: Mapped[Workspace] = relationship()

    # of the user in the workspace, as the look-up of the key found it; no column
    role = ""
