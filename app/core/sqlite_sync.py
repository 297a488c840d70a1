"""Commits on SQLite that sync to disk once the lock of writes is given back, not while it is held.

With `synchronous = FULL` SQLite syncs its log inside the commit, and no other process can write for a
millisecond or more. Here it runs with `NORMAL`, which leaves the log to whoever checkpoints, and `commit`
syncs it before it returns: what a caller is told to be stored is on disk as before. Others may read a commit
that is not on disk yet, or build on it, and then their own sync takes it along.
"""

# see docs/decisions/2026-11-25-commits-synced-after-the-lock.md
from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from app.core.group_sync import GroupSync

sync_file = getattr(os, "fdatasync", os.fsync)  # macOS has the second alone


class SyncedConnection(sqlite3.Connection):
    """A connection whose `commit` returns once its changes of rows are on disk.

    Changes of the schema alone are not noticed: migrations have connections that are `FULL`.
    """

    log: SyncedLog | None = None
    changes_on_disk = 0

    def sync_after_commits(self, log: SyncedLog) -> None:
        """From now on leave SQLite's own sync out of commits to the schema `main`, whose log this is."""
        self.execute("PRAGMA main.synchronous = NORMAL")
        self.log, self.changes_on_disk = log, self.total_changes

    def commit(self) -> None:
        """Commit, and wait for the disk. Raises sqlite3.OperationalError if either fails."""
        super().commit()
        if self.log is not None and self.total_changes != self.changes_on_disk:
            self.log.sync()
            self.changes_on_disk = self.total_changes


class SyncedLog:
    """The write-ahead log of a database, and what all connections of this process to it have synced."""

    def __init__(self, database: Path) -> None:
        file = (
            database.resolve()
        )  # SQLite puts the log beside the file itself, where `database` is a link to it
        self.path = file.with_name(f"{file.name}-wal")
        self.group = GroupSync()

    def sync(self) -> None:
        """Return once all that this process has committed is on disk."""
        try:
            self.group.wait(self.group.take_ticket(), self.sync_now)
        except OSError as error:
            raise sqlite3.OperationalError(f"the log can't be synced to disk: {error.strerror}") from error

    def sync_now(self) -> None:
        # a descriptor of its own will do; closing it drops none of SQLite's locks, which are on other files
        log = os.open(self.path, os.O_RDONLY)
        try:
            sync_file(log)
        finally:
            os.close(log)
