"""Group commit: many visits share one `fdatasync` (`JOURNAL_SYNC=group`).

The first thread syncs for all threads that have written by then. The others find it done, or sync for the
next group.
"""

from __future__ import annotations

import os
import threading


class GroupSync:
    """Gives out tickets for written lines, and waits until a ticket's line is on disk."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written = 0
        self._synced = 0

    def take_ticket(self) -> int:
        """A ticket for a line that was written just now; the caller holds the writer's lock."""
        self._written += 1
        return self._written

    def wait(self, ticket: int, fd: int) -> None:
        """Return once the line is on disk. Raises OSError if the sync fails."""
        with self._lock:
            if self._synced < ticket:
                upto = self._written
                os.fdatasync(fd)
                self._synced = upto
