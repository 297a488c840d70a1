"""Back-channel logout: the provider ends sessions that it began."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from sqlalchemy import select

from app.accounts.oidc import identities
from app.accounts.oidc.errors import InvalidToken
from app.accounts.oidc.models import OidcIdentity, OidcSession
from app.accounts.oidc.used_values import use_once
from app.audit.services import record
from app.core.database import begin_write
from app.core.extensions import db

MAX_LOGOUT_AGE = dt.timedelta(minutes=10)  # of a logout token


class LogoutNotice(NamedTuple):
    """What a logout token ends: a session of the provider, or all of a subject. One of both may be ""."""

    jti: str
    subject: str
    sid: str


def end_sessions(issuer: str, notice: LogoutNotice) -> int:
    """Ends the sessions that a logout token names; returns how many. Raises InvalidToken for a used one."""
    if not use_once(db.session, f"jti {issuer}", notice.jti, 2 * MAX_LOGOUT_AGE):
        raise InvalidToken("it was used already")
    begin_write(db.session)
    ended = 0
    for identity in find_identities(issuer, notice):
        count = identities.end_sessions(identity, notice.sid)
        if count:
            record(db.session, "session.ended", account=identity.user, count=count, reason="provider")
        ended += count
    db.session.commit()
    return ended


def find_identities(issuer: str, notice: LogoutNotice) -> list[OidcIdentity]:
    """That of the subject; without one, those with a session of this `sid`."""
    query = select(OidcIdentity).where(OidcIdentity.issuer == issuer)
    if notice.subject:
        return list(db.session.scalars(query.where(OidcIdentity.subject == notice.subject)))
    begun = select(OidcSession.identity_id).where(OidcSession.sid == notice.sid)
    return list(db.session.scalars(query.where(OidcIdentity.id.in_(begun))))
