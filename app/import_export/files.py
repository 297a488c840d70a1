"""Files of imports: the table, and the ZIP that it came in, beside it."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.errors import FieldError, Invalid
from app.i18n.messages import lazy_gettext as _l

SPARE_BYTES = 256 * 1024 * 1024  # of the disk, kept free for the journal
NAME = re.compile(r"[0-9a-f]{32}\.csv")


def directory_of(data_dir: Path) -> Path:
    return data_dir / "imports"


def path_of(data_dir: Path, file: str) -> Path:
    """The path of a file by its name in the database. Raises ValueError for any other name."""
    if not NAME.fullmatch(file):
        raise ValueError(file)
    return directory_of(data_dir) / file


def new_file(data_dir: Path) -> Path:
    """A path for a new table, in a directory that only this user can read."""
    directory = directory_of(data_dir)
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory / f"{secrets.token_hex(16)}.csv"


def archive_of(path: Path) -> Path:
    """The path of the ZIP that the table at `path` came in, if it came in one."""
    return path.with_suffix(".zip")


def remove(path: Path) -> None:
    """Remove a table and the ZIP that it came in."""
    for each in (path, archive_of(path)):
        each.unlink(missing_ok=True)


def require_room(place: Path | int, more: int = 0) -> None:
    """Raises Invalid where `more` bytes would leave too little free space for the journal."""
    space = os.statvfs(place)
    if space.f_bavail * space.f_frsize < more + SPARE_BYTES:
        raise Invalid(FieldError(_l("The server has no space for this file."), "no_room", "file"))


@contextmanager
def lock_table(data_dir: Path, name: str) -> Iterator[bool]:
    """Lock the table for this process; yields whether it got the lock. The lock also ends with the process.

    Yields True for a file that is missing or can't be opened: reading it then reports the problem.
    """
    try:
        file = path_of(data_dir, name).open("rb")
    except (OSError, ValueError):
        yield True
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def is_held(data_dir: Path, name: str) -> bool:
    with lock_table(data_dir, name) as is_ours:
        return not is_ours
