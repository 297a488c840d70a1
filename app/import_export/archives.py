"""Archives: downloads of everything that an account has, one an account, kept for a day.

A row stores the progress. The worker has the file made by another process (archive_writer.py), and removes
old files and files without a row.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import ColumnElement, delete, or_, select
from sqlalchemy.exc import IntegrityError

from app.accounts.models import User
from app.accounts.rights import may
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.database import AnySession
from app.core.error_boundary import ErrorBoundary
from app.core.extensions import db
from app.import_export.models import Archive

RETENTION = dt.timedelta(hours=24)
LEASE = dt.timedelta(seconds=60)  # for a piece of the file: other machines leave it alone meanwhile
FRESH_SECONDS = 60  # younger files are kept: their row may have been added after the rows were read
TRIES = 3
WAITING, MAKING, DONE, FAILED = "waiting", "making", "done", "failed"
UNDER_WAY = (WAITING, MAKING)
NAME = re.compile(r"[0-9a-f]{32}\.zip")

errors = ErrorBoundary("old archives")


def directory_of(data_dir: Path) -> Path:
    return data_dir / "downloads"


def path_of(data_dir: Path, name: str) -> Path:
    """The path of a file by its name in the database. Raises ValueError for any other name."""
    if not NAME.fullmatch(name):
        raise ValueError(name)
    return directory_of(data_dir) / name


def find_archive(user: User) -> Archive | None:
    """The user's archive, finished or not; None once it has expired, or the user may not see all of it."""
    row = db.session.scalar(select(Archive).where(Archive.user_id == user.id))
    if row is None or is_old(row):
        return None
    return row if row.state != DONE or may_see(user, row) else None


def may_see(user: User, row: Archive) -> bool:
    """Whether the user is still in the workspace of the archive, in a role that sees what is in it."""
    access = access_of(user)
    is_inside = row.workspace_id == access.workspace_id
    return is_inside and (may(access, "read_secrets") or not row.has_secrets)


def is_old(row: Archive) -> bool:
    return row.done_datetime is not None and row.done_datetime <= now() - RETENTION


def expires_at(row: Archive) -> dt.datetime | None:
    return row.done_datetime and row.done_datetime + RETENTION


def ask(user: User, site: str) -> None:
    """Request a new archive, unless one is being made. The caller has begun the write, and commits."""
    row = db.session.scalar(select(Archive).where(Archive.user_id == user.id).with_for_update())
    if row is not None and row.state in UNDER_WAY:
        return
    if row is not None:
        db.session.delete(row)
        db.session.flush()
    db.session.add(Archive(user_id=user.id, file=f"{secrets.token_hex(16)}.zip", site=site))
    try:
        db.session.flush()
    except IntegrityError:  # a concurrent request has added the row
        db.session.rollback()


def unfinished_archives(session: AnySession, machine: str) -> Sequence[tuple[int, int]]:
    """The ids of archives that are to be made or started again, with their owners' ids; the oldest first.

    Without those that other machines than this one make.
    """
    wanted = select(Archive.id, Archive.user_id).where(Archive.state.in_(UNDER_WAY), is_free(machine))
    return session.execute(wanted.order_by(Archive.id)).all()


def is_free(machine: str) -> ColumnElement[bool]:
    """Whether no other machine makes an archive."""
    return or_(Archive.lease.is_(None), Archive.lease <= now(), Archive.who == machine)


def sweep(session: AnySession, data_dir: Path) -> int:
    """Remove old archives, and files without a row, as killed processes leave. Returns how many files."""
    old = Archive.state.not_in(UNDER_WAY), Archive.datetime <= now() - RETENTION
    if session.scalar(select(Archive.id).where(*old).limit(1)) is not None:
        over = Archive.done_datetime.is_(None) | (Archive.done_datetime <= now() - RETENTION)
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
