"""How do many visits share one `fdatasync`? (`JOURNAL_SYNC=group`)

Whoever comes first syncs for all who have written by then; the others find it done, or lead the next round.
"""

from __future__ import annotations

import os
import threading


class GroupSync:
    """Tickets for what was written, and a wait until a ticket's line is on disk."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written = 0
        self._synced = 0

    def written(self) -> int:
        """A ticket for a line that was written just now; the caller holds the writer's lock."""
        self._written += 1
        return self._written

    def wait(self, ticket: int, fd: int) -> None:
        """Return once the line is on disk. Raises OSError where the disk says no."""
        with self._lock:
            if self._synced < ticket:
                upto = self._written
                os.fdatasync(fd)
                self._synced = upto
