"""How does a picture that was read become a file of ours, and how does that go again?

Files come before the commit and go after it: a request that fails leaves nothing behind, and no row names a
file that is gone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction

from app.extensions import db
from app.links.pictures import Picture

_directory: Path | None = None


def use_directory(directory: Path) -> None:
    """Keep this process's files there; set when the application is made."""
    global _directory  # one directory a process
    _directory = directory


def directory() -> Path:
    if _directory is None:
        raise RuntimeError("no directory for uploads: create_app sets it")
    return _directory


def keep(picture: Picture) -> str:
    """Write the picture into a file and name that. It goes again unless the transaction is committed."""
    name = f"{secrets.token_hex(16)}.{picture.suffix}"
    draft = prepared(name)
    with draft.open("xb") as file:
        file.write(picture.content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory() / name)
    return name


def keep_again(file: str | Path) -> str:
    """The same file, of this name or at another place, under one more name: each then goes by itself."""
    other = f"{secrets.token_hex(16)}{Path(file).suffix}"
    prepared(other)
    os.link(directory() / file, directory() / other)
    return other


def keep_any(picture: Picture | str | Path | None) -> str | None:
    """A new picture, or one more name for a file that there is; None where there is none."""
    if not picture:
        return None
    return keep(picture) if isinstance(picture, Picture) else keep_again(picture)


def prepared(name: str) -> Path:
    """Note that a file is about to be, and name the draft to write it to."""
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
    """How many files are to go so far, for `back_to` when what follows is undone."""
    return len(noted("old_uploads"))


def back_to(marked: int) -> None:
    """Keep those files after all that were to go since then."""
    del noted("old_uploads")[marked:]


@event.listens_for(db.session, "after_commit")
def committed(session: Session) -> None:
    session.info.pop("new_uploads", None)
    remove_files(session.info.pop("old_uploads", ()))


@event.listens_for(db.session, "after_transaction_end")
def ended(session: Session, transaction: SessionTransaction) -> None:
    """However it ended: what a commit would have kept or removed is not so."""
    if transaction.parent is None:
        session.info.pop("old_uploads", None)
        remove_files(session.info.pop("new_uploads", ()))


def remove(names: Iterable[str]) -> None:
    remove_files(directory() / name for name in names)


def remove_files(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
