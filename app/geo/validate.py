"""Validation of geolocation files in a process of its own, for the reader can crash at damage.

Web processes read a copy that has passed. The original is not safe to map into memory: a process that has it
mapped crashes when it is overwritten in place.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import threading
from hashlib import blake2b
from pathlib import Path

from app.core.file_locks import lock_file
from app.geo.lookup import DAMAGED, MISSING, FileVerdict, GeoDatabase, Status, stamp_of

READ_SECONDS = 900
NICE = 10
FIRST_SECONDS = 5.0  # a start waits so long for the first check, and then goes on without geolocation
# Every record, in a process of its own: there is damage at which the reader crashes instead of raising.
READ_THROUGH = f"""
import os, sys, maxminddb
os.nice({NICE})
with maxminddb.open_database(sys.argv[1]) as reader:
    if not sum(1 for _ in reader):
        sys.exit("there is nothing in it")
"""

log = logging.getLogger(__name__)


class UnreadableGeoFile(Exception):
    """The file can't be read to its end. The text says why, for people."""


def read_through(path: Path) -> None:
    """Reads every record. Raises UnreadableGeoFile."""
    command = [sys.executable, "-c", READ_THROUGH, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=READ_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise UnreadableGeoFile("it takes too long to read") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise UnreadableGeoFile(said or "the reader crashed")


def looked_at(path: Path) -> Status:
    """The status of a file after a full read, which takes long."""
    if not path.exists():
        return MISSING
    try:
        read_through(path)
    except UnreadableGeoFile:
        return DAMAGED
    return GeoDatabase(path).status


class Vetting:
    """Checks the file at `path` and keeps a copy that is safe to read. All processes share the result."""

    def __init__(self, path: Path, data_dir: Path) -> None:
        self.path, self.directory = path, data_dir / "places"
        self.thread: threading.Thread | None = None
        self.failed: tuple[int, ...] | None = None

    def verdict(self, stamp: tuple[int, ...], wait: float = 0.0) -> FileVerdict | None:
        """The verdict on the file as it is now; None while this or another process is still checking it."""
        found = self.known(stamp)
        if found is None and self.failed != stamp:
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self.look, args=(stamp,), daemon=True, name="places")
                self.thread.start()
            self.thread.join(wait)
            found = self.known(stamp)
        return found

    def known(self, stamp: tuple[int, ...]) -> FileVerdict | None:
        good, bad = self.names(stamp)
        if good.exists():
            return FileVerdict(good)
        return FileVerdict(None, bad.read_text(encoding="utf-8")) if bad.exists() else None

    def names(self, stamp: tuple[int, ...]) -> tuple[Path, Path]:
        key = blake2b(f"{self.path}\0{stamp}".encode(), digest_size=16).hexdigest()
        return self.directory / f"{key}.mmdb", self.directory / f"{key}.bad"

    def look(self, stamp: tuple[int, ...]) -> None:
        try:
            self.directory.mkdir(mode=0o700, exist_ok=True)
            with lock_file(self.directory / "lock") as is_ours:
                if is_ours and self.known(stamp) is None:
                    self.decide(stamp)
        except OSError as error:
            self.failed = stamp  # until there is another file, or this process starts again
            log.warning("The geolocation database %s can't be verified: %s", self.path, error)

    def decide(self, stamp: tuple[int, ...]) -> None:
        good, bad = self.names(stamp)
        draft = self.directory / f".{os.getpid()}.draft"
        try:
            shutil.copyfile(self.path, draft)
            if stamp_of(self.path) != stamp:
                return  # it is still being written: it is checked the next time
            try:
                read_through(draft)
            except UnreadableGeoFile as error:
                log.warning("The geolocation database %s is damaged: %s", self.path, error)
                bad.write_text(str(error), encoding="utf-8")
            else:
                draft.replace(good)
            self.forget({good.name, bad.name})
        finally:
            draft.unlink(missing_ok=True)

    def forget(self, kept: set[str]) -> None:
        """Removes earlier copies and verdicts. A process that still reads an old copy keeps it open."""
        for path in self.directory.glob("*.*"):
            if path.suffix in {".mmdb", ".bad", ".draft"} and path.name not in kept:
                path.unlink(missing_ok=True)
