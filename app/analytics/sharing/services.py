"""Creation, look-up and revocation of share addresses."""

# see docs/decisions/2026-11-24-shared-statistics.md
from __future__ import annotations

import hashlib
import logging
import re
import secrets
import time
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlalchemy import update as update_rows
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import joinedload

from app.accounts.access import Access
from app.analytics.sharing.models import StatisticsShare
from app.audit.services import Object, record
from app.core import clock
from app.core.database import AnySession, impatient, reread
from app.core.errors import FieldError, Invalid, NotFound
from app.core.extensions import db
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l

log = logging.getLogger(__name__)

TOKEN_BYTES = 32
SHAPE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)  # what `token_urlsafe` makes of 32 bytes
MAX_USABLE = 100  # share addresses of a user that work
MAX_ENDED = 400  # rows of ended ones, kept for the list and for the answer 410
MAX_COUNTED = 1000  # shares whose uses one process counts
USE_SECONDS = 1.0
_uses: dict[int, int] = {}
_written: dict[int, float] = {}


def create(access: Access, changes: dict[str, Any]) -> tuple[StatisticsShare, str]:
    """Create a share address from `changes`. Returns it with its token. Raises Invalid for one too many."""
    usable = select(func.count()).where(StatisticsShare.workspace_id == access.workspace_id, is_usable())
    if (db.session.scalar(usable) or 0) >= MAX_USABLE:
        most = lazy_digits(MAX_USABLE)
        text = _l("There may be at most %(most)s share addresses. Revoke one first.", most=most)
        raise Invalid(FieldError(text, "too_many", "name"))
    forget_oldest(access)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    values = {name: value for name, value in changes.items() if value is not None}
    share = StatisticsShare(
        **access.row_columns,
        digest=digest(token),
        sealed_token={"token": token},
        **values,
    )
    db.session.add(share)
    db.session.flush()
    record(db.session, "share.created", account=access.user, on=object_of(share))
    return share, token


def is_usable() -> ColumnElement[bool]:
    expires = StatisticsShare.expires_datetime
    is_open = or_(expires.is_(None), expires > clock.now())
    return and_(StatisticsShare.revoked_datetime.is_(None), is_open)


def forget_oldest(access: Access) -> None:
    """Delete the oldest ended share addresses beyond `MAX_ENDED`."""
    ended = select(StatisticsShare.id).where(
        StatisticsShare.workspace_id == access.workspace_id, ~is_usable()
    )
    old = ended.order_by(StatisticsShare.id.desc()).offset(MAX_ENDED)
    ids = db.session.scalars(old).all()
    if ids:
        db.session.execute(delete(StatisticsShare).where(StatisticsShare.id.in_(ids)))


def object_of(share: StatisticsShare) -> Object:
    return Object("statistics_share", share.id, share.name)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def find(token: str) -> StatisticsShare | None:
    """The share address with this token, whatever its state, with its owner. A malformed one asks nothing."""
    if not SHAPE.fullmatch(token):
        return None
    found = select(StatisticsShare).where(StatisticsShare.digest == digest(token))
    return db.session.scalar(found.options(joinedload(StatisticsShare.user)))


def state_of(share: StatisticsShare) -> str:
    """`active`, `expired`, `revoked`, or `closed` while no member of its workspace may sign in."""
    if share.revoked_datetime is not None:
        return "revoked"
    if share.expires_datetime is not None and share.expires_datetime <= clock.now():
        return "expired"
    return "active" if share.has_members else "closed"


def update(share: StatisticsShare, changes: dict[str, Any]) -> StatisticsShare:
    """Change what it shows, and to whom; its address stays. Raises NotFound for one that has ended."""
    if state_of(share) != "active":
        raise NotFound("page")
    for name, value in changes.items():
        setattr(share, name, value)
    record(db.session, "share.changed", account=share.user, on=object_of(share))
    db.session.flush()
    return share


def revoke(share: StatisticsShare) -> None:
    """Revoke it from now on; it stays in the list as a record. Raises NotFound when it is gone already."""
    reread(db.session, share)
    if share.revoked_datetime is None:
        share.revoked_datetime = clock.now()
        share.sealed_token = {}
        record(db.session, "share.revoked", account=share.user, on=object_of(share))
    db.session.flush()


def list_shares(session: AnySession, access: Access) -> list[StatisticsShare]:
    """A user's share addresses, the newest first."""
    query = select(StatisticsShare).options(joinedload(StatisticsShare.user))
    mine = query.where(StatisticsShare.workspace_id == access.workspace_id).order_by(
        StatisticsShare.id.desc()
    )
    return list(session.scalars(mine.limit(MAX_USABLE + MAX_ENDED)))


def note_use(share_id: int) -> None:
    """Count a use and write the time of it, at most once a second in each process.

    What comes in between is added with the next one. A reader never waits long for this.
    """
    if len(_uses) >= MAX_COUNTED and share_id not in _uses:
        _uses.clear()
        _written.clear()
    _uses[share_id] = _uses.get(share_id, 0) + 1
    moment = time.monotonic()
    if moment - _written.get(share_id, -USE_SECONDS) < USE_SECONDS:
        return
    _written[share_id] = moment
    count = _uses.pop(share_id)
    try:
        write_uses(share_id, count)
    except SQLAlchemyError as error:
        _uses[share_id] = _uses.get(share_id, 0) + count
        log.warning("the last use of share address %d is not written yet: %s", share_id, error)


def write_uses(share_id: int, count: int) -> None:
    """Writes on a connection of its own, which gives up soon if the database is busy."""
    used = {"uses": StatisticsShare.uses + count, "last_datetime": clock.now()}
    with db.engine.connect() as connection, impatient(connection):
        connection.execute(update_rows(StatisticsShare).where(StatisticsShare.id == share_id).values(**used))
        connection.commit()
