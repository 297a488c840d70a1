"""When is a proof looked for again, and what comes of it that it is gone?

Nothing that visitors would notice: many take the record away once it has done its work. But a host may have
come into other hands; so who proves it then, after some time, may have it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from typing import cast

from sqlalchemy import ColumnElement, Table, func, or_, select, update
from sqlalchemy.orm import Session

from app.clock import now
from app.database import begin_write
from app.domains.models import Domain

EVERY = dt.timedelta(days=1)
WARNED = dt.timedelta(days=3)  # in a row
LAPSED = dt.timedelta(days=14)
DOMAINS = cast("Table", Domain.__table__)  # past the ORM: nothing of this spoils a plan


def due(session: Session, most: int, without: Collection[int] = ()) -> list[Domain]:
    """Verified hosts whose proof was not looked for since yesterday: owners in turns, and of each owner the
    longest ago first."""
    last = func.coalesce(Domain.checked_datetime, Domain.datetime)
    turn = func.row_number().over(partition_by=Domain.user_id, order_by=(last, Domain.id))
    wanted = Domain.is_verified, last <= now() - EVERY, Domain.id.not_in(without)
    return list(session.scalars(select(Domain).where(*wanted).order_by(turn, last, Domain.id).limit(most)))


def note(session: Session, domain_id: int, token: str, *, is_there: bool | None) -> None:
    """What a look has shown; None where nobody could tell, which changes nothing but when. Commits."""
    begin_write(session)
    values: dict[str, object] = {"checked_datetime": now()}
    if is_there is not None:
        since = session.scalar(select(Domain.unproven_since).where(Domain.id == domain_id))
        values["unproven_since"] = None if is_there else since or now()
    # another host meanwhile has another token, and was not looked at
    session.execute(
        update(DOMAINS).where(DOMAINS.c.id == domain_id, DOMAINS.c.token == token).values(**values)
    )
    session.commit()


def is_warned(domain: Domain) -> bool:
    """Whether its owner should see to it."""
    since = domain.unproven_since
    return bool(domain.is_verified and since and since <= now() - WARNED)


def is_held() -> ColumnElement[bool]:
    """Of a verified host: nobody else can have it."""
    return or_(Domain.unproven_since.is_(None), Domain.unproven_since > now() - LAPSED)
