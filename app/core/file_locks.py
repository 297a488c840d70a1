"""Advisory locks on files, held by one process or thread of the machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def lock_file(path: Path, *, shared: bool = False) -> Iterator[bool]:
    """Holds the lock of that name if it is free, and yields whether it was.

    The system releases it however the process ends.
    """
    with lock_by_descriptor(path, shared=shared) as held:
        yield held is not None


@contextlib.contextmanager
def lock_by_descriptor(path: Path, *, shared: bool = False) -> Iterator[int | None]:
    """As `lock_file`, but yields the descriptor that holds the lock, as do copies of it in other processes.

    Yields None where the lock is not free.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        yield None
    else:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def wait_for_lock(path: Path) -> Iterator[None]:
    """Holds the lock of that name exclusively, as soon as nobody else does."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def is_held(path: Path, *, shared: bool = False) -> bool:
    """Whether a process holds the lock of that name exclusively; with `shared`, also whether it shares it.

    Makes no file. Holds the lock itself for a moment where it is free.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if shared else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
