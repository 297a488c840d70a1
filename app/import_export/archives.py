"""How does an owner come by a file of everything, one at a time, which is there for a day?

A row says how far it is; the worker has the file made beside it (archiving.py), and sweeps what is old, or
what nobody has a row for.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from app.accounts.models import User
from app.clock import now
from app.database import AnySession
from app.error_boundary import ErrorBoundary
from app.extensions import db
from app.transfer.models import Archive

KEPT = dt.timedelta(hours=24)
FRESH_SECONDS = 60  # a file is there a moment after its row
TRIES = 3
WAITING, MAKING, DONE, FAILED = "waiting", "making", "done", "failed"
UNDER_WAY = (WAITING, MAKING)
NAME = re.compile(r"[0-9a-f]{32}\.zip")

errors = ErrorBoundary("old archives")


def directory_of(data_dir: Path) -> Path:
    return data_dir / "downloads"


def path_of(data_dir: Path, name: str) -> Path:
    """Of a file by its name in the database. Raises ValueError for anything else."""
    if not NAME.fullmatch(name):
        raise ValueError(name)
    return directory_of(data_dir) / name


def of(user: User) -> Archive | None:
    """The one there is or will be; none once its day is over."""
    row = db.session.scalar(select(Archive).where(Archive.user_id == user.id))
    return None if row is None or is_old(row) else row


def is_old(row: Archive) -> bool:
    return row.done_datetime is not None and row.done_datetime <= now() - KEPT


def ends(row: Archive) -> dt.datetime | None:
    return row.done_datetime and row.done_datetime + KEPT


def ask(user: User, site: str) -> None:
    """Have a new one made, unless one is under way. The caller has begun the write, and commits."""
    row = db.session.scalar(select(Archive).where(Archive.user_id == user.id).with_for_update())
    if row is not None and row.state in UNDER_WAY:
        return
    if row is not None:
        db.session.delete(row)
        db.session.flush()
    db.session.add(Archive(user_id=user.id, file=f"{secrets.token_hex(16)}.zip", site=site))
    try:
        db.session.flush()
    except IntegrityError:  # asked for twice at once: the other's is as good
        db.session.rollback()


def waiting(session: AnySession) -> Sequence[tuple[int, int]]:
    """Ids of those that some process should make, or begin again, and of their owners; the oldest first."""
    wanted = select(Archive.id, Archive.user_id).where(Archive.state.in_(UNDER_WAY)).order_by(Archive.id)
    return session.execute(wanted).all()


def sweep(session: AnySession, data_dir: Path) -> int:
    """What is old, and every file that no row names, also one that a killed process left; how many files."""
    old = Archive.state.not_in(UNDER_WAY), Archive.datetime <= now() - KEPT
    if session.scalar(select(Archive.id).where(*old).limit(1)) is not None:
        over = Archive.done_datetime.is_(None) | (Archive.done_datetime <= now() - KEPT)
        session.execute(delete(Archive).where(*old, over))
        session.commit()
    needed = set(session.scalars(select(Archive.file)))
    session.rollback()
    fresh = time.time() - FRESH_SECONDS
    found = [path for path in directory_of(data_dir).glob("*.*") if path.stat().st_mtime < fresh]
    left = [path for path in found if f"{path.stem}.zip" not in needed]
    for path in left:
        with errors.attempt(path.name):
            path.unlink(missing_ok=True)
    return len(left)
