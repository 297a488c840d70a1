"""Daily checks of the proofs of verified domains, and the loss of domains without one.

Visitors notice nothing of a missing proof: many owners remove the record once the domain is verified. But the
host may have a new holder, so after two weeks without a proof another user can verify it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from typing import cast

from sqlalchemy import ColumnElement, Table, func, or_, select, update
from sqlalchemy.orm import Session

from app.core.clock import now
from app.core.database import begin_write
from app.domains.models import Domain

EVERY = dt.timedelta(days=1)
WARNED = dt.timedelta(days=3)  # in a row
LAPSED = dt.timedelta(days=14)
DOMAINS = cast("Table", Domain.__table__)  # past the ORM, whose listeners would invalidate compiled links


def due(session: Session, most: int, without: Collection[int] = ()) -> list[Domain]:
    """Verified domains that were not checked for a day, `most` at most.

    Owners take turns; of each owner the domain that was checked longest ago comes first.
    """
    last = func.coalesce(Domain.checked_datetime, Domain.datetime)
    turn = func.row_number().over(partition_by=Domain.workspace_id, order_by=(last, Domain.id))
    wanted = Domain.is_verified, last <= now() - EVERY, Domain.id.not_in(without)
    return list(session.scalars(select(Domain).where(*wanted).order_by(turn, last, Domain.id).limit(most)))


def note(session: Session, domain_id: int, token: str, *, is_there: bool | None) -> None:
    """Store the result of a check. `is_there` None: it had none, and only its time is stored. Commits."""
    begin_write(session)
    values: dict[str, object] = {"checked_datetime": now()}
    if is_there is not None:
        since = session.scalar(select(Domain.unproven_since).where(Domain.id == domain_id))
        values["unproven_since"] = None if is_there else since or now()
    # if the host was changed meanwhile, so was the token, and this result is not about it
    session.execute(
        update(DOMAINS).where(DOMAINS.c.id == domain_id, DOMAINS.c.token == token).values(**values)
    )
    session.commit()


def is_warned(domain: Domain) -> bool:
    """Whether its owner is warned that the proof is missing."""
    since = domain.unproven_since
    return bool(domain.is_verified and since and since <= now() - WARNED)


def is_held() -> ColumnElement[bool]:
    """Whether a verified domain is held: no other user can verify its host."""
    return or_(Domain.unproven_since.is_(None), Domain.unproven_since > now() - LAPSED)
