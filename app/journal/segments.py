"""Which files make up the journal, whose are they, and when may one go?

A segment is `<time_ns>-<8 random bytes>.v1`, so names sort by age and never come twice. Its writer holds a
lock on it for as long as it lives: whoever gets the lock knows that nothing more will come.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import tempfile
import time
from pathlib import Path

from app.error_boundary import ErrorBoundary
from app.file_locks import lock_file
from app.journal.record import FORMATS, NEWEST

NAME = re.compile(r"\d{19}-[0-9a-f]{16}(\.v\d+)")
DRAFT = re.compile(r"\d{19}-[0-9a-f]{16}\.new")
lock = lock_file  # as its users here call it
DRAFT_SECONDS = 60  # a live writer needs a thousandth of a second from making a draft to naming it

errors = ErrorBoundary("drafts of segments")


def directory_of(data_dir: Path) -> Path:
    """Where the journal of an instance lies; made if it is not there."""
    directory = data_dir / "journal"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def create(directory: Path) -> int:
    """Make a segment that is ours; its descriptor, open to append and locked.

    It has its name only once it is locked, so nobody ever takes a new segment for a dead writer's.
    """
    while True:
        stem = f"{time.time_ns():019d}-{secrets.token_hex(8)}"
        draft = directory / f"{stem}.new"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            draft.rename(directory / f"{stem}{NEWEST}")
        except FileNotFoundError:  # somebody swept the draft between these lines: make another
            os.close(fd)
        except BaseException:
            os.close(fd)
            draft.unlink(missing_ok=True)
            raise
        else:
            return fd


def check_writable(directory: Path) -> None:
    """Write a byte to a file without a name. Raises OSError where no segment could be made now."""
    with tempfile.TemporaryFile(dir=directory, buffering=0) as probe:
        probe.write(b"\n")


def listed(directory: Path) -> list[str]:
    """The names of all segments that this version can read, oldest first."""
    return sorted(name for name in names(directory) if version_of(name) in FORMATS)


def unknown(directory: Path) -> list[str]:
    """Segments of a version that this program does not know: they are left alone, and shown."""
    return sorted(name for name in names(directory) if version_of(name) not in {None, *FORMATS})


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def version_of(name: str) -> str | None:
    """The suffix that says how a segment is read; None for what is no segment."""
    found = NAME.fullmatch(name)
    return found[1] if found else None


def is_abandoned(fd: int) -> bool:
    """Whether the writer of an open segment is gone. Ask before reading to the end, not after."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return True


def sweep(directory: Path, now: float) -> list[str]:
    """Remove drafts whose writer died before giving them their name; nothing was ever written to them."""
    drafts = [name for name in names(directory) if DRAFT.fullmatch(name)]
    return [name for name in drafts if errors.run(name, is_swept, directory / name, now)]


def is_swept(draft: Path, now: float) -> bool:
    with contextlib.suppress(FileNotFoundError), draft.open("rb") as file:
        if now - os.fstat(file.fileno()).st_mtime > DRAFT_SECONDS and is_abandoned(file.fileno()):
            draft.unlink()
            return True
    return False


def removal_lock(directory: Path) -> contextlib.AbstractContextManager[bool]:
    """Held while segments are removed; a backup holds `keep.lock` alone, and then nothing is removed."""
    return lock(directory / "keep.lock", shared=True)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory as durable as the files' contents."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
