"""Copies of stored files on this machine's disk, which are kept for a day at most, and within a bound."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from app.core.database import AnySession
from app.core.durable_files import replace_file
from app.core.stored_files import known, read

COPIES = "picture_copies"  # in DATA_DIR
COPY_SECONDS = 24 * 60 * 60
RENEWED_SECONDS = COPY_SECONDS / 2  # so that none goes between its path and its reader
MAX_COPIES_BYTES = 1024 * 1024 * 1024


def copy_of(session: AnySession, path: str, data_dir: Path) -> Path | None:
    """A copy of the file on this machine's disk; None where there is no such file."""
    if not known(session, [path]):
        return None
    copy = data_dir / COPIES / path.replace("/", "-")
    if age_of(copy) < RENEWED_SECONDS:
        return copy
    content = read(session, path)
    if content is None:
        return None
    copy.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(copy, content)
    return copy


def age_of(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def remove_old_copies(data_dir: Path) -> None:
    """Removes copies that are a day old, drafts of killed processes, and the oldest copies of too many.

    A copy that is being sent stays readable until it was sent.
    """
    directory, room = data_dir / COPIES, MAX_COPIES_BYTES
    for path in sorted(directory.iterdir() if directory.is_dir() else (), key=age_of):
        with suppress(FileNotFoundError):
            room -= path.stat().st_size
            if room < 0 or age_of(path) > COPY_SECONDS:
                path.unlink()
