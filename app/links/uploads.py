"""Stores and removes the files of uploaded pictures, together with the database's transaction.

Files are written before the commit and removed after it. So a request that fails leaves no file, and no row
names a file that is gone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction

from app.core.extensions import db
from app.links.pictures import Picture

_directory: Path | None = None


def use_directory(directory: Path) -> None:
    """Set the directory of this process's files; called when the application is made."""
    global _directory  # one directory a process
    _directory = directory


def directory() -> Path:
    if _directory is None:
        raise RuntimeError("no directory for uploads: create_app sets it")
    return _directory


def keep(picture: Picture) -> str:
    """Write the picture to a file and return its name. It is removed unless the transaction is committed."""
    name = f"{secrets.token_hex(16)}.{picture.suffix}"
    draft = prepared(name)
    with draft.open("xb") as file:
        file.write(picture.content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory() / name)
    return name


def keep_again(file: str | Path) -> str:
    """Hard-link a file, given by its name or path, under a new name; each can then be removed by itself."""
    other = f"{secrets.token_hex(16)}{Path(file).suffix}"
    prepared(other)
    os.link(directory() / file, directory() / other)
    return other


def keep_any(picture: Picture | str | Path | None) -> str | None:
    """Store a new picture, or link an existing file; None for nothing."""
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
    if name:
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


def remove(names: Iterable[str]) -> None:
    remove_files(directory() / name for name in names)


def remove_files(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
