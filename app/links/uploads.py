"""Stores and removes uploaded pictures, together with the database's transaction.

On PostgreSQL, which several machines may share, pictures are in the database (`app/core/stored_files.py`); on
SQLite they are files. Files are written before the commit and removed after it. So a request that fails
leaves no file, and no row names a file that is gone.
"""

# see docs/decisions/2026-11-25-pictures-in-the-database.md
from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction

from app.core import stored_files
from app.core.database import AnySession
from app.core.extensions import db
from app.core.file_copies import copy_of
from app.links.pictures import Picture

FOLDER = "uploads"

_directory: Path | None = None
_is_in_database = False


def use_directory(directory: Path, *, is_in_database: bool) -> None:
    """Set the directory of this process's files, and whether the database holds new ones; called when the
    application is made."""
    global _directory, _is_in_database  # one directory a process
    _directory, _is_in_database = directory, is_in_database


def directory() -> Path:
    if _directory is None:
        raise RuntimeError("no directory for uploads: create_app sets it")
    return _directory


def is_in_database() -> bool:
    return _is_in_database


def stored_path(name: str) -> str:
    """The path of a served picture in the database."""
    return f"{FOLDER}/{name}"


def path_of(name: str) -> Path:
    """The file of a served picture on this machine. It may be missing."""
    if not _is_in_database:
        return directory() / name
    # a session of its own: readers of pictures hold no transaction open meanwhile
    with Session(db.engine) as session:
        return copy_of(session, stored_path(name), directory().parent) or directory() / name


def keep(picture: Picture) -> str:
    """Store the picture and return its name. It is removed unless the transaction is committed."""
    name = f"{secrets.token_hex(16)}.{picture.suffix}"
    if _is_in_database:
        stored_files.add(db.session, stored_path(name), picture.content)
        return name
    draft = prepared(name)
    with draft.open("xb") as file:
        file.write(picture.content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory() / name)
    return name


def keep_again(file: str | Path) -> str:
    """Store a picture, given by its name or path, under a new name; each can then be removed by itself.

    Raises FileNotFoundError where it is gone.
    """
    other = f"{secrets.token_hex(16)}{Path(file).suffix}"
    if _is_in_database:
        link_stored(stored_path(file) if isinstance(file, str) else str(file), stored_path(other))
        return other
    prepared(other)
    os.link(directory() / file, directory() / other)
    return other


def link_stored(old: str, new: str, link_id: int | None = None) -> None:
    """Store a picture of the database under another path, too. Raises FileNotFoundError where it is gone."""
    if not stored_files.link(db.session, old, new, link_id):
        raise FileNotFoundError(old)


def keep_any(picture: Picture | str | Path | None) -> str | None:
    """Store a new picture, or an existing one again; None for nothing."""
    if not picture:
        return None
    return keep(picture) if isinstance(picture, Picture) else keep_again(picture)


def prepared(name: str) -> Path:
    """Note a file that is about to be written, for removal on rollback. Returns its draft's path."""
    directory().mkdir(parents=True, exist_ok=True)
    draft = directory() / f".{name}"
    noted("new_uploads").extend([directory() / name, draft])
    return draft


def discard(name: str | None) -> None:
    """Remove the file once the transaction is committed."""
    if name and _is_in_database:
        stored_files.remove(db.session, [stored_path(name)])
    elif name:
        noted("old_uploads").append(directory() / name)


def noted(what: str) -> list[Path]:
    found: list[Path] = db.session.info.setdefault(what, [])
    return found


def mark() -> int:
    """How many files are to be removed so far; `back_to` takes it if what follows is undone."""
    return len(noted("old_uploads"))


def back_to(marked: int) -> None:
    """Keep the files that were to be removed since the mark."""
    del noted("old_uploads")[marked:]


@event.listens_for(db.session, "after_commit")
def committed(session: Session) -> None:
    session.info.pop("new_uploads", None)
    remove_files(session.info.pop("old_uploads", ()))


@event.listens_for(db.session, "after_transaction_end")
def ended(session: Session, transaction: SessionTransaction) -> None:
    """After a rollback, forget removals and remove new files. After a commit both lists are empty."""
    if transaction.parent is None:
        session.info.pop("old_uploads", None)
        remove_files(session.info.pop("new_uploads", ()))


def remove(session: AnySession, names: Iterable[str]) -> None:
    """Remove pictures: files at once, those of the database with the transaction of `session`."""
    if _is_in_database:
        stored_files.remove(session, map(stored_path, names))
    else:
        remove_files(directory() / name for name in names)


def remove_files(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
