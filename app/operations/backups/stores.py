"""Places of backups: a folder or a bucket. A backup is there whole, or not at all."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from app.core import clock
from app.core.config import Settings
from app.core.storage_settings import S3
from app.net.s3 import Bucket, account_of
from app.net.s3_uploads import BucketUpload, abort_abandoned
from app.operations.backups.backup_files import new_file
from app.operations.backups.encryption import SUFFIX
from app.operations.backups.manifest import UnusableBackup

START = "waypost-"
# what `name_backup` makes, and all that is ever removed
NAME = re.compile(r"waypost-(\d{8}-\d{6})\.tar\.gz(?:\.age)?", re.ASCII)
LATEST = "latest"


class StoredBackup(NamedTuple):
    """A backup at its place."""

    name: str
    size: int
    made: dt.datetime


class BackupStore(Protocol):
    """A place that holds backups by name."""

    def backups(self) -> list[StoredBackup]:
        """The complete backups that Waypost has named, the oldest first. Other files are not seen."""

    def check(self) -> None:
        """Raises OSError or BucketError where the place can't be used: before the instance is copied."""

    def create(self, name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
        """A new backup, complete at the end of the block; none where that fails."""

    def open(self, name: str) -> contextlib.AbstractContextManager[io.BufferedReader]: ...

    def remove(self, name: str) -> None: ...

    def address_of(self, name: str) -> str:
        """The whole address of a backup, for people."""


def name_backup(*, is_encrypted: bool) -> str:
    return f"{START}{clock.now():%Y%m%d-%H%M%S}.tar.gz{SUFFIX if is_encrypted else ''}"


def open_store(settings: Settings, target: str) -> BackupStore:
    """The place of a folder's path or a bucket's address."""
    if target.startswith(S3):
        return BucketOfBackups(Bucket(account_of(settings), target))
    return FolderOfBackups(Path(target))


def latest(store: BackupStore) -> StoredBackup:
    found = store.backups()
    if not found:
        raise UnusableBackup(f"There is no backup in {store.address_of('')}.")
    return found[-1]


def read_name(name: str, size: int) -> StoredBackup | None:
    """A backup by its name; None for a name that Waypost does not give."""
    match = NAME.fullmatch(name)
    if match is None:
        return None
    try:
        made = dt.datetime.strptime(match[1], "%Y%m%d-%H%M%S").replace(tzinfo=dt.UTC)
    except ValueError:  # a day that does not exist
        return None
    return StoredBackup(name, size, made)


class FolderOfBackups:
    """A folder. A backup gets its name when it is complete and synced to the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def backups(self) -> list[StoredBackup]:
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        found = [read_name(path.name, path.stat().st_size) for path in paths if path.is_file()]
        return sorted(filter(None, found), key=lambda each: (each.made, each.name))

    def check(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_drafts_of_killed(self.folder)
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self.folder))

    @contextlib.contextmanager
    def create(self, name: str) -> Iterator[IO[bytes]]:
        with new_file(self.folder / name) as file:
            yield file

    def open(self, name: str) -> io.BufferedReader:
        return (self.folder / name).open("rb")

    def remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def address_of(self, name: str) -> str:
        return str(self.folder / name)


class BucketOfBackups:
    """A bucket of an S3-compatible server. A backup is visible when its upload is completed."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def backups(self) -> list[StoredBackup]:
        found = [read_name(each.name, each.size) for each in self.bucket.objects(START)]
        return sorted(filter(None, found), key=lambda each: (each.made, each.name))

    def check(self) -> None:
        self.bucket.check()
        abort_abandoned(self.bucket, START, clock.now())

    def create(self, name: str) -> contextlib.AbstractContextManager[Any]:
        return BucketUpload(self.bucket, name)

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[io.BufferedReader]:
        yield io.BufferedReader(PiecesReader(self.bucket.read(name)))

    def remove(self, name: str) -> None:
        self.bucket.remove(name)

    def address_of(self, name: str) -> str:
        return self.bucket.address_of(name)


class PiecesReader(io.RawIOBase):
    """A stream of the pieces that an iterator yields."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def remove_drafts_of_killed(folder: Path) -> None:
    """Removes drafts of backups whose processes are gone. One by one: another machine may write here, too."""
    for draft in folder.glob(f".{START}*.tar.gz*.*"):
        name, _, process = draft.name[1:].rpartition(".")
        is_ours = NAME.fullmatch(name) and process.isdecimal()
        if is_ours and clock.now().timestamp() - draft.stat().st_mtime > 24 * 3600:
            draft.unlink(missing_ok=True)
