"""Small values in files that survive a full disk and a killed process.

Such a file has a fixed size and its blocks are allocated from the start, so overwriting it needs no space.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

BYTES = 256


class PersistentValue:
    """A line of text in a file, shared by processes. `prepare` raises OSError if it can't be created."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self) -> None:
        """Allocate the file's space ahead, while there is some."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, BYTES)
        finally:
            os.close(fd)

    def read(self) -> str:
        """The stored text; empty if there is none."""
        with contextlib.suppress(FileNotFoundError):
            return self.path.read_bytes().rstrip(b" \n\0").decode(errors="replace")
        return ""

    def change(self, new: Callable[[str], str]) -> None:
        """Replace the text by `new(text)`, one process and thread at a time."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            text = os.pread(fd, BYTES, 0).rstrip(b" \n\0").decode(errors="replace")
            os.pwrite(fd, new(text).encode(errors="replace")[: BYTES - 1].ljust(BYTES - 1) + b"\n", 0)
        finally:
            os.close(fd)


class Dropped:
    """Counts the visits that could not be written since this journal exists, and when the last one was.

    The text is `<visits> <seconds since 1970>`.
    """

    def __init__(self, directory: Path) -> None:
        self._value = PersistentValue(directory / "dropped")
        self.prepare = self._value.prepare

    def read(self) -> int:
        return number(self._value.read().partition(" ")[0])

    def last_time(self) -> int:
        """When visits were last dropped, in seconds since 1970; 0 if that is not known."""
        return number(self._value.read().partition(" ")[2])

    def add(self, visits: int) -> None:
        now = int(time.time())
        self._value.change(lambda text: f"{number(text.partition(' ')[0]) + visits} {now}")


def number(text: str) -> int:
    """A stored count. Anything else, such as what a power cut left there, is 0."""
    return int(text) if text.isascii() and text.isdigit() else 0
