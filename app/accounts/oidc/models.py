"""Tables of single sign-on: identities, the sessions they began, and values that may be used once."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import JSON, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.accounts.models import User
from app.core.clock import now
from app.core.database import Id, UtcDateTime
from app.core.extensions import db


class OidcIdentity(db.Model):
    """What an account is at a provider. An account has one at each.

    `issuer`: without a slash at its end. `subject`: None while an admin has allowed the link and nobody has
    signed in yet. `email`: as the provider last confirmed it. `roles`: by the id of a workspace, those that
    the claims of the last sign-in gave.
    """

    __table_args__ = UniqueConstraint("issuer", "subject"), UniqueConstraint("user_id", "issuer")

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    issuer: Mapped[str] = mapped_column(String(512))
    subject: Mapped[str | None] = mapped_column(String(255))
    email: Mapped[str] = mapped_column(String(320), default="")
    roles: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    last_datetime: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)

    user: Mapped[User] = relationship()


class OidcSession(db.Model):
    """Marks a session that the provider's sign-in began. `sid`: the provider's own session, "" if unknown."""

    session_id: Mapped[int] = mapped_column(
        ForeignKey("user_session.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    identity_id: Mapped[int] = mapped_column(ForeignKey("oidc_identity.id", ondelete="CASCADE"), index=True)
    sid: Mapped[str] = mapped_column(String(255), default="")


class OidcUsedValue(db.Model):
    """A `state` or a `jti` that was used, until it would have expired. Only its SHA-256 is stored."""

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    expires_datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, index=True)
