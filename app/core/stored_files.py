"""Small files in the database, for machines that share no disk: written once, never changed.

A file is a row with its path, such as `uploads/<name>`. Files of the same content share it, so that a link
costs nothing. What reads one gets a copy on this machine's disk (`file_copies`).

The content itself may be in a bucket. Rows stay the truth then: which files there are, and which objects.
"""

# see docs/decisions/2026-11-25-pictures-in-the-database.md
# see docs/decisions/2026-11-25-pictures-in-a-bucket.md
from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from sqlalchemy import BigInteger, ColumnElement, ForeignKey, LargeBinary, String, delete, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import now
from app.core.database import AnySession, UtcDateTime, begin_write
from app.core.extensions import db

UNUSED = dt.timedelta(hours=24)
LEFT = "left-"
BATCH_SIZE = 500


class StoredContent(db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """The bytes of one or more files. `datetime`: when a file with these bytes was added last.

    `object_name`: the object of the bucket that has them, if `content` does not. One that no file can have
    (its digest begins with LEFT) is to be removed a day later.
    """

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[bytes | None] = mapped_column(LargeBinary)
    object_name: Mapped[str | None] = mapped_column(String(100))
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class StoredFile(db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """A file. `row_id`: the id of the row that it is kept for, where its path alone does not tell."""

    path: Mapped[str] = mapped_column(String(120), primary_key=True)
    digest: Mapped[str] = mapped_column(ForeignKey("stored_content.digest"), index=True)
    row_id: Mapped[int | None] = mapped_column(BigInteger, index=True)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)


class ContentStore(Protocol):
    """Holds contents outside of the database, each under a name that is never used again."""

    def put(self, name: str, content: bytes) -> None: ...

    def get(self, name: str) -> bytes:
        """Raises FileNotFoundError where it is gone, and another error where the store does not answer."""

    def remove(self, name: str) -> None: ...


_store: ContentStore | None = None


def use_store(store: ContentStore | None) -> None:
    """Sets where this process keeps contents: there, or in the database for None."""
    global _store  # one store a process
    _store = store


def is_in_store() -> bool:
    return _store is not None


def add(session: AnySession, path: str, content: bytes, row_id: int | None = None) -> bool:
    """Adds a file, where there is none of that path. Returns whether there was none."""
    digest = hashlib.sha256(content).hexdigest()
    is_there = StoredContent.digest == digest
    # what removes unused content meanwhile waits for this row, and leaves it then
    touched = update(StoredContent).where(is_there).values(datetime=now()).returning(StoredContent.digest)
    if session.scalar(touched) is None:
        if _store is None:
            insert_content(session, digest, content=content)
        else:
            add_object(session, _store, digest, content)
    return add_row(session, path, digest, row_id)


def insert_content(session: AnySession, digest: str, **values: Any) -> str | None:
    """Inserts a content, or touches that of a concurrent transaction. Returns the name of its object."""
    made = postgresql.insert(StoredContent).values(digest=digest, datetime=now(), **values)
    upsert = made.on_conflict_do_update(index_elements=["digest"], set_={"datetime": made.excluded.datetime})
    name: str | None = session.scalar(upsert.returning(StoredContent.object_name))
    return name


def add_object(session: AnySession, store: ContentStore, digest: str, content: bytes) -> None:
    """Puts a content into the store. If the transaction is not committed, the object goes a day later."""
    name = put_object(session, store, digest, content)
    if insert_content(session, digest, object_name=name) == name:
        session.execute(delete(StoredContent).where(StoredContent.object_name == name, is_left()))


def move_to_store(session: AnySession, store: ContentStore, digest: str, content: bytes) -> bool:
    """Moves a content out of the database, and commits. Returns whether it still was there."""
    name = put_object(session, store, digest, content)
    begin_write(session)
    moved = update(StoredContent).where(StoredContent.digest == digest, StoredContent.content.is_not(None))
    values = moved.values(content=None, object_name=name).returning(StoredContent.digest)
    is_moved = session.scalar(values) is not None
    if is_moved:
        session.execute(delete(StoredContent).where(StoredContent.object_name == name, is_left()))
    session.commit()
    return is_moved


def move_to_database(session: AnySession, digest: str, content: bytes) -> None:
    """Stores a content in the database that was in a store, and commits. Its object is the caller's then."""
    begin_write(session)
    row = update(StoredContent).where(StoredContent.digest == digest)
    session.execute(row.values(content=content, object_name=None))
    session.commit()


def put_object(session: AnySession, store: ContentStore, digest: str, content: bytes) -> str:
    """Puts an object, once a committed row says that it is to be removed. Returns its name."""
    name = f"{digest}-{secrets.token_hex(8)}"
    with Session(session.get_bind()) as own:
        own.add(StoredContent(digest=left_digest(), object_name=name))
        own.commit()
    store.put(name, content)
    return name


def left_digest() -> str:
    return f"{LEFT}{secrets.token_hex(16)}"


def is_left() -> ColumnElement[bool]:
    return StoredContent.digest.startswith(LEFT)


def link(session: AnySession, old: str, new: str, row_id: int | None = None) -> bool:
    """Adds a file with the content of another one. Returns whether it is there now."""
    digest = session.scalar(select(StoredFile.digest).where(StoredFile.path == old))
    if digest is None:
        return False
    add_row(session, new, digest, row_id)
    return True


def add_row(session: AnySession, path: str, digest: str, row_id: int | None) -> bool:
    row = postgresql.insert(StoredFile).values(path=path, digest=digest, row_id=row_id, datetime=now())
    return session.scalar(row.on_conflict_do_nothing().returning(StoredFile.path)) is not None


def remove(session: AnySession, paths: Iterable[str]) -> None:
    session.execute(delete(StoredFile).where(StoredFile.path.in_(list(paths))))


def remove_of_rows(session: AnySession, ids: Collection[int]) -> None:
    """Removes the files that are kept for these rows."""
    session.execute(delete(StoredFile).where(StoredFile.row_id.in_(ids)))


def known(session: AnySession, paths: Collection[str]) -> set[str]:
    """Those of these paths that are files."""
    return set(session.scalars(select(StoredFile.path).where(StoredFile.path.in_(paths))))


def read(session: AnySession, path: str) -> bytes | None:
    """The content of a file; None where there is no such file. Ends the transaction."""
    columns = StoredContent.content, StoredContent.object_name
    wanted = select(*columns).join(StoredFile, StoredFile.digest == StoredContent.digest)
    found = session.execute(wanted.where(StoredFile.path == path)).one_or_none()
    session.rollback()  # a slow store must not hold a connection of the database
    return None if found is None else content_of(found.content, found.object_name)


def content_of(content: bytes | None, object_name: str | None) -> bytes | None:
    if content is not None or object_name is None:
        return content
    if _store is None:
        raise FileNotFoundError(f"{object_name} is in a bucket, and MEDIA_URL names none")
    return _store.get(object_name)


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
    """Removes what no file has any more, and none got within a day. Returns how much.

    An object goes in two steps: no file can get it after the first, and a killed process repeats the second.
    """
    is_used = select(StoredFile.path).where(StoredFile.digest == StoredContent.digest).exists()
    unused = ~is_used, StoredContent.datetime < now() - UNUSED
    rows = session.execute(
        select(StoredContent.digest, StoredContent.object_name).where(*unused).limit(BATCH_SIZE)
    )
    found = rows.all()
    for digest, object_name in found:
        if object_name is None:
            session.execute(delete(StoredContent).where(StoredContent.digest == digest, *unused))
        elif not digest.startswith(LEFT):
            left = update(StoredContent).where(StoredContent.digest == digest, *unused)
            session.execute(left.values(digest=left_digest()))
        session.commit()
    remove_left_objects(session)
    return len(found)


def remove_left_objects(session: Session) -> None:
    if _store is None:
        return  # they wait until the settings name the bucket again
    late = is_left(), StoredContent.datetime < now() - UNUSED
    names = session.scalars(select(StoredContent.object_name).where(*late).limit(BATCH_SIZE)).all()
    session.rollback()
    for name in filter(None, names):
        _store.remove(name)
        session.execute(delete(StoredContent).where(StoredContent.object_name == name, is_left()))
        session.commit()


def remove_all_content(session: AnySession) -> None:
    """Removes the content that no file has, where none is added any more."""
    is_used = select(StoredFile.path).where(StoredFile.digest == StoredContent.digest).exists()
    begin_write(session)
    session.execute(delete(StoredContent).where(~is_used))
    session.commit()
