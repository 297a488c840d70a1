"""Bounded memory for visits that the journal can't take for a while."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable

MAX_BYTES = 256 * 1024  # of one process: about a thousand visits
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})  # no space left: for these there is the disk reserve


class UnwrittenVisits:
    """A queue of lines, oldest first. Not thread-safe: its journal's lock guards it."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.size = 0
        self._lines: deque[bytes] = deque()

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: bytes) -> bool:
        """Keep a line; False if there is no room for it."""
        if self.size + len(line) > self.max_bytes:
            return False
        self._lines.append(line)
        self.size += len(line)
        return True

    def write(self, write: Callable[[bytes], int], rest_of: Callable[[bytes, int], bytes]) -> None:
        """Write and forget each line. Stops at a short write; what `write` raises is passed on."""
        while self._lines:
            line = self._lines[0]
            written = write(line)
            if written != len(line):
                self._lines[0] = rest_of(line, written)
                self.size += len(self._lines[0]) - len(line)
                return
            self._lines.popleft()
            self.size -= len(line)

    def clear(self) -> int:
        """Forget all lines. Returns how many there were."""
        number = len(self._lines)
        self._lines.clear()
        self.size = 0
        return number
