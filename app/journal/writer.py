"""How does a counted visit get to where no killed process can lose it?

By one `write` to the end of a segment of our own, before the visitor has his answer. Threads need no lock
for that: the system never mixes two writes to the end of one open file.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from pathlib import Path

from app.journal import reserve, segments
from app.journal.group import GroupSync
from app.journal.slate import Dropped
from app.journal.unwritten import FULL, UnwrittenVisits

SEGMENT_BYTES = 16 * 1024 * 1024
SILENCE_SECONDS = 60
RETRY_SECONDS = 1.0
NONE = -1

log = logging.getLogger(__name__)
journals: weakref.WeakSet[Journal] = weakref.WeakSet()


class Journal:
    """The writing end of a journal, one a process, for all its threads. Nothing is opened until it is needed.

    With `sync="group"` a visit is on disk, not only with the system, when `append` returns.
    """

    def __init__(self, directory: Path, *, sync: str = "worker", segment_bytes: int = SEGMENT_BYTES) -> None:
        self.dropped = Dropped(directory)
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._fd = NONE
        self._size = 0  # about: threads may lose an addition, and only the time of rotation hangs on it
        self._uncounted = 0
        self._silent_until = 0.0
        self._group = GroupSync() if sync == "group" else None
        self._unwritten = UnwrittenVisits()
        self._retrying: threading.Thread | None = None
        self._closing = threading.Event()
        journals.add(self)

    def append(self, line: bytes) -> bool:
        """Write one line; no disk makes it raise. False: it is not written, but kept in memory or dropped."""
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
        """Give the segment up, when nobody will append any more. What can't be written now is dropped."""
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
            ticket = group.written()
        if written != len(line):
            return self._rescue(rest_of(line, written))
        self._wait(group, ticket)
        if self._size >= self._segment_bytes:
            self._rotate()
        return True

    def _wait(self, group: GroupSync, ticket: int) -> None:
        """Until it is on disk. Where the disk refuses, the line is written all the same, and will count."""
        try:
            group.wait(ticket, self._fd)
        except OSError as error:
            self._complain("Visits are written, but could not be synced to disk", error)

    def _open(self) -> None:
        with self._lock:
            if self._fd == NONE:
                self._prepare()
                self._fd = segments.create(self._directory)
                self._size = 0
                self._make_durable()

    def _prepare(self) -> None:
        """What helps when space runs out, made while there is some; without it the journal still writes."""
        try:
            self.dropped.prepare()
            reserve.keep(self._directory)
        except OSError:
            log.warning("The journal's reserve can't be made", exc_info=True)

    def _rotate(self) -> None:
        """Go on in a new segment. The old number is taken over, never closed: threads are writing to it."""
        with self._lock:
            if self._size < self._segment_bytes:
                return  # another thread was first
            self._size = 0  # also when it fails: the old segment still takes visits, and there is a next time
            try:
                self._replace()
            except OSError:
                log.warning("The journal can't begin a new segment and goes on in the old one", exc_info=True)

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
            segments.sync_directory(self._directory)

    def _rescue(self, line: bytes) -> bool:
        """What could not be written, tried once more with the reserve given up for it."""
        error: OSError | None = None
        with self._lock:
            try:
                reserve.release(self._directory)
                if self._fd == NONE:
                    self._fd = segments.create(self._directory)
                rescued = os.write(self._fd, line) == len(line)
            except OSError as again:
                rescued, error = False, again
            if not rescued:
                self._keep_or_drop(line, error)
            elif self._group is not None:
                self._wait(self._group, self._group.written())
        return rescued

    def _keep_or_drop(self, line: bytes, error: OSError | None) -> None:
        """Keep the line in memory, unless the disk is full: for that there was the reserve."""
        if error is None or error.errno in FULL or not self._unwritten.add(line):
            self._drop(error)
            return
        self._complain("Visits can't be written down and are kept in memory for now", error)
        if self._retrying is None:
            self._retrying = threading.Thread(target=self._retry, name="unwritten visits", daemon=True)
            self._retrying.start()

    def _retry(self) -> None:
        """Try to write what is kept every second, until it is written or the journal is closed."""
        while not self._closing.wait(RETRY_SECONDS):
            if self.write_kept():
                return

    def write_kept(self) -> bool:
        """Write what is kept in memory, as far as that is possible now; whether all is written."""
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
                log.debug("visits stay in memory: %s", error)
            if len(self._unwritten):
                return False
            self._retrying = None
            return True

    def kept_visits(self) -> int:
        """How many visits this process keeps in memory, for they can't be written."""
        return len(self._unwritten)

    def _drop(self, error: OSError | str | None, visits: int = 1) -> None:
        self._complain("Visits can't be written down and are dropped", error)
        self._uncounted += visits
        try:
            self.dropped.add(self._uncounted)
        except OSError:
            return  # it stays in `_uncounted` until there is a place to write it
        self._uncounted = 0

    def _complain(self, what: str, error: OSError | str | None) -> None:
        """Once a minute: a full disk is the last place to write a line for each visit to."""
        if time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + SILENCE_SECONDS
            log.error("%s: %s", what, error or "no space left")

    def _begin_anew(self) -> None:
        """In a forked child: the open segment is the parent's, and so are the locks, perhaps held."""
        if self._fd != NONE:
            os.close(self._fd)
            self._fd = NONE
        self._lock = threading.Lock()
        self._uncounted = 0
        self._unwritten, self._retrying = UnwrittenVisits(), None  # those are the parent's, as is its thread
        self._closing = threading.Event()
        self._group = GroupSync() if self._group is not None else None


def rest_of(line: bytes, written: int) -> bytes:
    """What to write after a write that was cut short.

    The whole line again, for other threads' lines may have followed: its leading LF parts it from what the
    cut one left, which is damaged. Save where only the last LF is missing: the next line's leading one would
    make that sound, and the visit count twice.
    """
    return line[written:] if written == len(line) - 1 else line


def begin_all_anew() -> None:
    for journal in list(journals):
        journal._begin_anew()  # noqa: SLF001  the same module


os.register_at_fork(after_in_child=begin_all_anew)
