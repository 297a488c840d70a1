"""Writes counted visits to the journal, so that a killed process loses none.

Each visit is one `write` to the end of this process's segment, before the visitor has their answer. Threads
need no lock for that: the system never mixes two appending writes to one open file.
"""

# see docs/decisions/2026-11-20-the-journal.md
from __future__ import annotations

import errno
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path

from app.core.durable_files import sync_directory
from app.journal import disk_reserve, segments
from app.journal.persistent_value import Dropped

SEGMENT_BYTES = 16 * 1024 * 1024
SILENCE_SECONDS = 60
RETRY_SECONDS = 1.0
NONE = -1
MAX_UNWRITTEN_BYTES = 256 * 1024  # of one process: about a thousand visits
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})  # no space left: for these there is the disk reserve

log = logging.getLogger(__name__)
journals: weakref.WeakSet[Journal] = weakref.WeakSet()


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


class UnwrittenVisits:
    """Bounded memory for visits that the journal can't take for a while, oldest first.

    Not thread-safe: its journal's lock guards it.
    """

    def __init__(self, max_bytes: int = MAX_UNWRITTEN_BYTES) -> None:
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


class Journal:
    """Writer of a journal, one per process, for all its threads. Nothing is opened until it is needed.

    With `sync="group"` a visit is on disk when `append` returns, not only in the system's cache.
    """

    def __init__(self, directory: Path, *, sync: str = "worker", segment_bytes: int = SEGMENT_BYTES) -> None:
        self.dropped = Dropped(directory)
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._fd = NONE
        self._size = 0  # approximate: threads may lose an addition; only the time of rotation depends on it
        self._uncounted = 0
        self._silent_until = 0.0
        self._group = GroupSync() if sync == "group" else None
        self._unwritten = UnwrittenVisits()
        self._retrying: threading.Thread | None = None
        self._closing = threading.Event()
        journals.add(self)

    def append(self, line: bytes) -> bool:
        """Write one line; no disk error is raised. False: not written, but kept in memory or dropped."""
        try:
            if self._fd == NONE:
                self._open()
            if self._group is not None:
                return self._append_synced(line, self._group)
            written = os.write(self._fd, line)
        except OSError:
            return self._rescue(line)
        if written != len(line):
            return self._rescue(rest_of(line, written))
        self._size += written
        if self._size >= self._segment_bytes:
            self._rotate()
        return True

    def close(self) -> None:
        """Close the segment, after the last `append`. Lines that can't be written now are dropped."""
        self._closing.set()
        retrying = self._retrying
        if retrying is not None:
            retrying.join()
            self.write_kept()
        with self._lock:
            if lost := self._unwritten.clear():
                self._drop("the process ends", lost)
            self._retrying = None
            self._closing.clear()
            if self._fd != NONE:
                os.close(self._fd)
                self._fd = NONE

    def _append_synced(self, line: bytes, group: GroupSync) -> bool:
        with self._lock:  # no write may be under way when rotation syncs the old segment for the last time
            written = os.write(self._fd, line)
            self._size += written
            ticket = group.take_ticket()
        if written != len(line):
            return self._rescue(rest_of(line, written))
        self._wait(group, ticket)
        if self._size >= self._segment_bytes:
            self._rotate()
        return True

    def _wait(self, group: GroupSync, ticket: int) -> None:
        """Wait until the line is on disk. If the sync fails, the line is written anyway, and will count."""
        try:
            group.wait(ticket, lambda: os.fdatasync(self._fd))
        except OSError as error:
            self._complain("Clicks are written, but could not be synced to disk", error)

    def _open(self) -> None:
        with self._lock:
            if self._fd == NONE:
                self._prepare()
                self._fd = segments.create(self._directory)
                self._size = 0
                self._make_durable()

    def _prepare(self) -> None:
        """Allocate ahead what is needed when space runs out. Without it the journal still writes."""
        try:
            self.dropped.prepare()
            disk_reserve.keep(self._directory)
        except OSError:
            log.warning("The journal's disk reserve can't be allocated", exc_info=True)

    def _rotate(self) -> None:
        """Go on in a new segment, under the same descriptor number: other threads are writing to it."""
        with self._lock:
            if self._size < self._segment_bytes:
                return  # another thread was first
            self._size = 0  # also on failure: the old segment still takes visits; rotation is tried again
            try:
                self._replace()
            except OSError:
                log.warning(
                    "The journal can't start a new segment and continues in the old one", exc_info=True
                )

    def _replace(self) -> None:
        self._size = 0
        fd = segments.create(self._directory)
        try:
            if self._group is not None:
                os.fdatasync(self._fd)
            os.dup2(fd, self._fd, inheritable=False)
        finally:
            os.close(fd)
        self._make_durable()

    def _make_durable(self) -> None:
        if self._group is not None:
            sync_directory(self._directory)

    def _rescue(self, line: bytes) -> bool:
        """Release the disk reserve and try once more to write a line that could not be written."""
        error: OSError | None = None
        with self._lock:
            try:
                disk_reserve.release(self._directory)
                if self._fd == NONE:
                    self._fd = segments.create(self._directory)
                rescued = os.write(self._fd, line) == len(line)
            except OSError as again:
                rescued, error = False, again
            if not rescued:
                self._keep_or_drop(line, error)
            elif self._group is not None:
                self._wait(self._group, self._group.take_ticket())
        return rescued

    def _keep_or_drop(self, line: bytes, error: OSError | None) -> None:
        """Keep the line in memory. On a full disk drop it: the reserve, made for that case, is used up."""
        if error is None or error.errno in FULL or not self._unwritten.add(line):
            self._drop(error)
            return
        self._complain("Clicks can't be written and are kept in memory for now", error)
        if self._retrying is None:
            self._retrying = threading.Thread(target=self._retry, name="unwritten visits", daemon=True)
            self._retrying.start()

    def _retry(self) -> None:
        """Try every second to write the kept lines, until all are written or the journal is closed."""
        while not self._closing.wait(RETRY_SECONDS):
            if self.write_kept():
                return

    def write_kept(self) -> bool:
        """Write the lines that are kept in memory, as far as possible. Returns whether all are written."""
        with self._lock:
            try:
                if self._fd == NONE and len(self._unwritten):
                    self._fd = segments.create(self._directory)
                    self._size = 0
                    self._make_durable()
                before = self._unwritten.size
                self._unwritten.write(lambda line: os.write(self._fd, line), rest_of)
                self._size += before - self._unwritten.size
                if self._group is not None and self._fd != NONE:
                    os.fdatasync(self._fd)
            except OSError as error:
                log.debug("clicks stay in memory: %s", error)
            if len(self._unwritten):
                return False
            self._retrying = None
            return True

    def kept_visits(self) -> int:
        """How many visits this process keeps in memory because they can't be written."""
        return len(self._unwritten)

    def _drop(self, error: OSError | str | None, visits: int = 1) -> None:
        self._complain("Clicks can't be written and are dropped", error)
        self._uncounted += visits
        try:
            self.dropped.add(self._uncounted)
        except OSError:
            return  # it stays in `_uncounted` until it can be written
        self._uncounted = 0

    def _complain(self, what: str, error: OSError | str | None) -> None:
        """Log at most once a minute: logging itself would fill the disk."""
        if time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + SILENCE_SECONDS
            log.error("%s: %s", what, error or "no space left")

    def _begin_anew(self) -> None:
        """Reset in a forked child: the open segment and the locks, perhaps held, belong to the parent."""
        if self._fd != NONE:
            os.close(self._fd)
            self._fd = NONE
        self._lock = threading.Lock()
        self._uncounted = 0
        self._unwritten, self._retrying = UnwrittenVisits(), None  # those are the parent's, as is its thread
        self._closing = threading.Event()
        self._group = GroupSync() if self._group is not None else None


def rest_of(line: bytes, written: int) -> bytes:
    """The bytes to write after a short write.

    That is the whole line again, because other threads' lines may have followed: its leading LF separates it
    from the damaged rest. If only the last LF is missing, only that is written: otherwise the leading LF of
    the second copy would make the first one valid, and the visit would count twice.
    """
    return line[written:] if written == len(line) - 1 else line


def begin_all_anew() -> None:
    for journal in list(journals):
        journal._begin_anew()  # noqa: SLF001  the same module


os.register_at_fork(after_in_child=begin_all_anew)
