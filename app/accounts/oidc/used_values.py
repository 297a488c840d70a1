"""Values of a sign-in, and those that may be used once: its `state`, and the `jti` of a logout token."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from typing import NamedTuple

from sqlalchemy import delete, insert
from sqlalchemy.exc import IntegrityError

from app.accounts.oidc.models import OidcUsedValue
from app.core.clock import now
from app.core.database import AnySession, begin_write

RANDOM_BYTES = 48


class SignInRequest(NamedTuple):
    """What one sign-in sends to the provider and expects back."""

    state: str
    nonce: str
    verifier: str  # of PKCE

    @classmethod
    def draw(cls) -> SignInRequest:
        """New values, which nobody can guess."""
        return cls(*(secrets.token_urlsafe(RANDOM_BYTES) for _ in cls._fields))


def use_once(session: AnySession, kind: str, value: str, lifetime: dt.timedelta) -> bool:
    """Whether this is the first use. Of any number at once, in any process, one is. Commits."""
    digest = hashlib.sha256(f"{kind}\0{value}".encode("utf-8", "replace")).hexdigest()
    begin_write(session)
    try:
        session.execute(insert(OidcUsedValue).values(digest=digest, expires_datetime=now() + lifetime))
        session.commit()
    except IntegrityError:
        session.rollback()
        return False
    return True


def sweep(session: AnySession) -> None:
    """Deletes what would have expired by now."""
    begin_write(session)
    session.execute(delete(OidcUsedValue).where(OidcUsedValue.expires_datetime <= now()))
    session.commit()
