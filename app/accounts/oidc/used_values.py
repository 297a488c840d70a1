"""Values that may be used once: the `state` of a sign-in and the `jti` of a logout token."""

from __future__ import annotations

import datetime as dt
import hashlib

from sqlalchemy import delete, insert
from sqlalchemy.exc import IntegrityError

from app.accounts.oidc.models import OidcUsedValue
from app.core.clock import now
from app.core.database import AnySession, begin_write


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
