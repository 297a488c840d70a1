"""Where do the journal's last megabytes come from, when the disk is full?

From a file that was made ahead and is deleted then. It is made anew only where there is room for several
of it, or it would take at once the space that it has just given.
"""

from __future__ import annotations

import os
from pathlib import Path

BYTES = 4 * 1024 * 1024
ROOM = 4


def keep(directory: Path) -> bool:
    """See to it that there is a reserve; whether there is one now."""
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
    except OSError:  # full in this very moment: half a reserve would only be in the way
        path.unlink(missing_ok=True)
        return False
    else:
        return True
    finally:
        os.close(fd)


def release(directory: Path) -> None:
    """Give the space to whoever writes next."""
    (directory / "reserve").unlink(missing_ok=True)
