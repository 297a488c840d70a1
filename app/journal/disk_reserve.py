"""Disk reserve: a file that is deleted when the disk is full, so that the journal can still write.

It is created ahead. It is created again only when there is room for several of it; otherwise it would at once
take back the space that it has just given.
"""

from __future__ import annotations

import os
from pathlib import Path

BYTES = 4 * 1024 * 1024
ROOM = 4


def keep(directory: Path) -> bool:
    """Create the reserve if it is missing and there is room. Returns whether there is one now."""
    path = directory / "reserve"
    if path.exists():
        return True
    space = os.statvfs(directory)
    if space.f_bavail * space.f_frsize < ROOM * BYTES:
        return False
    return make(path)


def make(path: Path) -> bool:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(fd, 0, BYTES)
    except OSError:  # the disk became full meanwhile: half a reserve would only take space
        path.unlink(missing_ok=True)
        return False
    else:
        return True
    finally:
        os.close(fd)


def release(directory: Path) -> None:
    """Delete the reserve, which frees its space for the next write."""
    (directory / "reserve").unlink(missing_ok=True)
