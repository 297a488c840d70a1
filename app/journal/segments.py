"""Segments: the files of the journal. Names, creates and lists them, and finds abandoned ones.

A segment is `<time_ns>-<8 random bytes>.v1`, so names sort by age and are unique. Its writer holds a lock on
it for as long as it lives: a process that gets the lock knows that nothing more will be written.
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

from app.core.error_boundary import ErrorBoundary
from app.core.file_locks import lock_file
from app.journal.codec import FORMATS, NEWEST

NAME = re.compile(r"\d{19}-[0-9a-f]{16}(\.v\d+)")
DRAFT = re.compile(r"\d{19}-[0-9a-f]{16}\.new")
DRAFT_SECONDS = 60  # a live writer needs a millisecond from creating a draft to renaming it

errors = ErrorBoundary("drafts of segments")


def path_of(data_dir: Path) -> Path:
    """The directory of an instance's journal."""
    return data_dir / "journal"


def directory_of(data_dir: Path) -> Path:
    """The directory of an instance's journal, created if missing."""
    directory = path_of(data_dir)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def create(directory: Path) -> int:
    """Create a segment for this process. Returns its descriptor, open to append and locked.

    It gets its name only once it is locked, so a new segment is never mistaken for a dead writer's.
    """
    while True:
        stem = f"{time.time_ns():019d}-{secrets.token_hex(8)}"
        draft = directory / f"{stem}.new"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            draft.rename(directory / f"{stem}{NEWEST}")
        except FileNotFoundError:  # another process swept the draft between these lines: make another
            os.close(fd)
        except BaseException:
            os.close(fd)
            draft.unlink(missing_ok=True)
            raise
        else:
            return fd


def check_writable(directory: Path) -> None:
    """Write a byte to a nameless temporary file. Raises OSError if no segment could be created now."""
    with tempfile.TemporaryFile(dir=directory, buffering=0) as probe:
        probe.write(b"\n")


def list_segments(directory: Path) -> list[str]:
    """The names of all segments that this version can read, oldest first."""
    return sorted(name for name in names(directory) if version_of(name) in FORMATS)


def list_unknown_segments(directory: Path) -> list[str]:
    """Segments of a version that this program does not know. They are left alone, and reported."""
    return sorted(name for name in names(directory) if version_of(name) not in {None, *FORMATS})


def names(directory: Path) -> list[str]:
    with os.scandir(directory) as found:  # without a path for each: an idle worker asks five times a second
        return [entry.name for entry in found]


def version_of(name: str) -> str | None:
    """The suffix that says how a segment is decoded; None if the name is no segment's."""
    found = NAME.fullmatch(name)
    return found[1] if found else None


def is_abandoned(fd: int) -> bool:
    """Whether the writer of an open segment is gone. Call it before reading to the end, not after."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return True


def sweep(directory: Path, now: float) -> list[str]:
    """Remove drafts whose writer died before renaming them; nothing was ever written to them."""
    drafts = [name for name in names(directory) if DRAFT.fullmatch(name)]
    return [name for name in drafts if errors.run(name, is_swept, directory / name, now)]


def is_swept(draft: Path, now: float) -> bool:
    with contextlib.suppress(FileNotFoundError), draft.open("rb") as file:
        if now - os.fstat(file.fileno()).st_mtime > DRAFT_SECONDS and is_abandoned(file.fileno()):
            draft.unlink()
            return True
    return False


def removal_lock(directory: Path) -> contextlib.AbstractContextManager[bool]:
    """Shared lock on `keep.lock`, held while segments are removed.

    A backup holds the same lock exclusively; meanwhile nothing is removed.
    """
    return lock_file(directory / "keep.lock", shared=True)
