"""Small files in the database, for machines that share no disk: written once, never changed.

A file is a row with its path, such as `uploads/<name>`. Files of the same content share it, so that a link
costs nothing. What reads one gets a copy on this machine's disk (`file_copies`).
"""

# see docs/decisions/2026-11-25-pictures-in-the-database.md
from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence

from sqlalchemy import BigInteger, ColumnElement, ForeignKey, LargeBinary, String, delete, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import now
from app.core.database import AnySession, UtcDateTime
from app.core.extensions import db

UNUSED = dt.timedelta(hours=24)
BATCH_SIZE = 500


class StoredContent(db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """The bytes of one or more files. `datetime`: when a file with these bytes was added last."""

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class StoredFile(db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """A file. `row_id`: the id of the row that it is kept for, where its path alone does not tell."""

    path: Mapped[str] = mapped_column(String(120), primary_key=True)
    digest: Mapped[str] = mapped_column(ForeignKey("stored_content.digest"), index=True)
    row_id: Mapped[int | None] = mapped_column(BigInteger, index=True)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


def add(session: AnySession, path: str, content: bytes, row_id: int | None = None) -> None:
    """Adds a file, where there is none of that path."""
    digest = hashlib.sha256(content).hexdigest()
    # what removes unused content meanwhile waits for this row, and leaves it then
    touched = update(StoredContent).where(StoredContent.digest == digest).values(datetime=now())
    if session.scalar(touched.returning(StoredContent.digest)) is None:
        made = postgresql.insert(StoredContent).values(digest=digest, datetime=now(), content=content)
        moment = {"datetime": made.excluded.datetime}  # a concurrent transaction may have added it
        session.execute(made.on_conflict_do_update(index_elements=["digest"], set_=moment))
    add_row(session, path, digest, row_id)


def link(session: AnySession, old: str, new: str, row_id: int | None = None) -> bool:
    """Adds a file with the content of another one. Returns whether it is there now."""
    digest = session.scalar(select(StoredFile.digest).where(StoredFile.path == old))
    if digest is None:
        return False
    add_row(session, new, digest, row_id)
    return True


def add_row(session: AnySession, path: str, digest: str, row_id: int | None) -> None:
    row = postgresql.insert(StoredFile).values(path=path, digest=digest, row_id=row_id, datetime=now())
    session.execute(row.on_conflict_do_nothing())


def remove(session: AnySession, paths: Iterable[str]) -> None:
    session.execute(delete(StoredFile).where(StoredFile.path.in_(list(paths))))


def remove_of_rows(session: AnySession, ids: Collection[int]) -> None:
    """Removes the files that are kept for these rows."""
    session.execute(delete(StoredFile).where(StoredFile.row_id.in_(ids)))


def known(session: AnySession, paths: Collection[str]) -> set[str]:
    """Those of these paths that are files."""
    return set(session.scalars(select(StoredFile.path).where(StoredFile.path.in_(paths))))


def read(session: AnySession, path: str) -> bytes | None:
    """The content of a file; None where there is no such file."""
    joined = select(StoredContent.content).join(StoredFile, StoredFile.digest == StoredContent.digest)
    return session.scalar(joined.where(StoredFile.path == path))


def remove_strays(
    session: Session,
    which: ColumnElement[bool],
    youngest_seconds: float,
    strays_among: Callable[[Sequence[str]], Collection[str]],
) -> int:
    """Removes files that nothing names, in batches of paths; those younger than so many seconds stay.

    `strays_among`: which of some paths these are. Returns the number of removed files.
    """
    count, last = 0, ""
    old = which, StoredFile.datetime < now() - dt.timedelta(seconds=youngest_seconds)
    while True:
        some = select(StoredFile.path).where(*old, StoredFile.path > last).order_by(StoredFile.path)
        paths = session.scalars(some.limit(BATCH_SIZE)).all()
        session.rollback()
        if not paths:
            return count
        last = paths[-1]
        strays = strays_among(paths)
        remove(session, strays)
        session.commit()
        count += len(strays)


def remove_unused_content(session: Session) -> int:
    """Removes what no file has any more, and none got within a day. Returns how much."""
    is_used = select(StoredFile.path).where(StoredFile.digest == StoredContent.digest).exists()
    unused = ~is_used, StoredContent.datetime < now() - UNUSED
    digests = session.scalars(select(StoredContent.digest).where(*unused).limit(BATCH_SIZE)).all()
    for digest in digests:
        session.execute(delete(StoredContent).where(StoredContent.digest == digest, *unused))
        session.commit()
    return len(digests)
