"""Uploaded pictures as they are stored: in files, or on PostgreSQL in the database."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sqlalchemy import select, update

from app.core import stored_files
from app.core.extensions import db
from app.core.stored_files import StoredFile
from app.links import previous_uploads, uploads


def served() -> list[str]:
    """The names of all served pictures."""
    return names_in(uploads.FOLDER, uploads.directory())


def previous() -> list[str]:
    """The names of all previous pictures, which are not served."""
    return names_in(previous_uploads.FOLDER, previous_uploads.directory())


def names_in(folder: str, directory: Path) -> list[str]:
    if not uploads.is_in_database():
        return sorted(path.name for path in directory.iterdir()) if directory.exists() else []
    assert not directory.exists() or not list(directory.iterdir()), "they are in the database"
    paths = db.session.scalars(select(StoredFile.path).where(StoredFile.path.like(f"{folder}/%")))
    return sorted(path.removeprefix(f"{folder}/") for path in paths)


def content(name: str) -> bytes:
    return uploads.path_of(name).read_bytes()


def lose(path: str) -> None:
    """Lose a picture, such as `uploads/<name>`, though its link or its history names it."""
    if uploads.is_in_database():
        stored_files.remove(db.session, [path])
        db.session.commit()
    else:
        (uploads.directory().parent / path).unlink()


def place(name: str, content: bytes) -> None:
    """Store a picture under that name, as an upload does."""
    if not uploads.is_in_database():
        uploads.directory().mkdir(parents=True, exist_ok=True)
        (uploads.directory() / name).write_bytes(content)
        return
    stored_files.add(db.session, uploads.stored_path(name), content)
    db.session.commit()


def overwrite(name: str, content: bytes) -> None:
    """Put other bytes in place of a served picture's, as an earlier version may have stored them."""
    if not uploads.is_in_database():
        (uploads.directory() / name).write_bytes(content)
        return
    path = uploads.stored_path(name)
    stored_files.add(db.session, "uploads/other", content)
    digest = hashlib.sha256(content).hexdigest()
    db.session.execute(update(StoredFile).where(StoredFile.path == path).values(digest=digest))
    stored_files.remove(db.session, ["uploads/other"])
    db.session.commit()
