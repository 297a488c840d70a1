"""Group commit: many writes to one file share one `fdatasync`."""

from __future__ import annotations

import threading
from collections.abc import Callable


class GroupSync:
    """Syncs a file for all threads of a process that have written to it.

    Each write gets a ticket once it is done, and `wait` returns when what was written is on disk. The first
    thread syncs for all that have a ticket by then. The others find it done, or sync for the next group.
    """

    def __init__(self) -> None:
        self._tickets = threading.Lock()
        self._syncing = threading.Lock()
        self._written = 0
        self._synced = 0

    def take_ticket(self) -> int:
        """A ticket for what was written just now."""
        with self._tickets:
            self._written += 1
            return self._written

    def wait(self, ticket: int, sync: Callable[[], object]) -> None:
        """Return once the ticket's write is on disk. Raises what `sync` raises, OSError if it fails."""
        with self._syncing:
            if self._synced < ticket:
                upto = self._written
                sync()
                self._synced = upto
