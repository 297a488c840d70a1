"""Places of backups: a folder or a bucket. A backup is there whole, or not at all."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from app.core import clock
from app.core.config import Settings
from app.core.durable_files import sync_directory
from app.core.storage_settings import S3, Retention
from app.net.s3 import Bucket, account_of
from app.net.s3_uploads import BucketUpload, abort_abandoned
from app.operations.backups.encryption import UnusableBackup

DIRECTORY = "backups"  # in DATA_DIR, where BACKUP_TO is not set
START = "waypost-"
# what `name_backup` makes, and all that is ever removed
NAME = re.compile(r"waypost-(\d{8}-\d{6})\.tar\.gz(?:\.age)?", re.ASCII)
LATEST = "latest"
PERIODS: dict[str, Callable[[dt.datetime], object]] = {
    "days": lambda made: made.date(),
    "weeks": lambda made: made.isocalendar()[:2],
    "months": lambda made: (made.year, made.month),
}


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


class NamedBackup(NamedTuple):
    """A backup by its place and name."""

    store: BackupStore
    name: str

    @property
    def address(self) -> str:
        return self.store.address_of(self.name)


def name_backup(*, is_encrypted: bool) -> str:
    return f"{START}{clock.now():%Y%m%d-%H%M%S}.tar.gz{'.age' if is_encrypted else ''}"


def read_names(found: Iterator[tuple[str, int]]) -> list[StoredBackup]:
    """The backups among names and sizes, the oldest first. A name that Waypost does not give is none."""
    backups = []
    for name, size in found:
        if match := NAME.fullmatch(name):
            with contextlib.suppress(ValueError):  # a day that does not exist
                made = dt.datetime.strptime(match[1], "%Y%m%d-%H%M%S").replace(tzinfo=dt.UTC)
                backups.append(StoredBackup(name, size, made))
    return sorted(backups, key=lambda each: (each.made, each.name))


def open_store(settings: Settings, target: str | None = None) -> BackupStore:
    """The place of a folder's path or a bucket's address; that of backups without a path for None."""
    target = target or settings.backup_to or str(settings.data_dir / DIRECTORY)
    if target.startswith(S3):
        return BucketOfBackups(Bucket(account_of(settings), target))
    return FolderOfBackups(Path(target))


def find_backup(settings: Settings, text: str) -> NamedBackup:
    """The backup that a command names: `latest`, a name, a file, or s3://bucket/prefix/name."""
    if text.startswith(S3):
        target, _, name = text.rpartition("/")
        if target == S3.rstrip("/") or not name:
            raise UnusableBackup(f"{text} names no backup: add its name, after a slash.")
        return NamedBackup(open_store(settings, target), name)
    store = open_store(settings)
    if text != LATEST:
        return NamedBackup(store, text)
    if not (found := store.backups()):
        raise UnusableBackup(f"There is no backup in {store.address_of('')}.")
    return NamedBackup(store, found[-1].name)


@contextlib.contextmanager
def opened_backup(source: NamedBackup | io.BufferedReader) -> Iterator[io.BufferedReader]:
    """The content of a backup, encrypted or not."""
    if isinstance(source, NamedBackup):
        with source.store.open(source.name) as stream:
            yield stream
    else:
        yield source


class FolderOfBackups:
    """A folder. A backup gets its name when it is complete and synced to the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def backups(self) -> list[StoredBackup]:
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        return read_names((path.name, path.stat().st_size) for path in paths if path.is_file())

    def check(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_drafts_of_killed(self.folder)
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self.folder))

    @contextlib.contextmanager
    def create(self, name: str) -> Iterator[IO[bytes]]:
        target = self.folder / name
        draft = target.with_name(f".{name}.{os.getpid()}")
        draft.touch(mode=0o600, exist_ok=False)
        try:
            with draft.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
            sync_directory(self.folder)
        finally:
            draft.unlink(missing_ok=True)

    def open(self, name: str) -> io.BufferedReader:
        return (self.folder / name).open("rb")

    def remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def address_of(self, name: str) -> str:
        return str(self.folder / name)


def remove_drafts_of_killed(folder: Path) -> None:
    """Removes drafts of backups whose processes are gone. One by one: another machine may write here, too."""
    for draft in folder.glob(f".{START}*.tar.gz*.*"):
        name, _, process = draft.name[1:].rpartition(".")
        is_ours = NAME.fullmatch(name) and process.isdecimal()
        if is_ours and clock.now().timestamp() - draft.stat().st_mtime > 24 * 3600:
            draft.unlink(missing_ok=True)


class BucketOfBackups:
    """A bucket of an S3-compatible server. A backup is visible when its upload is completed."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.remove, self.address_of = bucket.remove, bucket.address_of

    def backups(self) -> list[StoredBackup]:
        return read_names((each.name, each.size) for each in self.bucket.objects(START))

    def check(self) -> None:
        self.bucket.check()
        abort_abandoned(self.bucket, START, clock.now())

    def create(self, name: str) -> contextlib.AbstractContextManager[Any]:
        return BucketUpload(self.bucket, name)

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[io.BufferedReader]:
        yield io.BufferedReader(PiecesReader(self.bucket.read(name)))


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


def kept_names(backups: Sequence[StoredBackup], keep: Retention) -> set[str]:
    """The names that stay: the newest backup of all, and that of each of the last days, weeks and months.

    A day without a backup does not count, so that a pause removes nothing.
    """
    newest_first = sorted(backups, key=lambda each: each.made, reverse=True)
    kept = {each.name for each in newest_first[:1]}
    for name, period in PERIODS.items():
        newest: dict[object, str] = {}
        for each in newest_first:
            newest.setdefault(period(each.made), each.name)
        kept |= set(list(newest.values())[: getattr(keep, name)])
    return kept


def remove_old(store: BackupStore, keep: Retention, *, made: str) -> list[str]:
    """Removes backups that are no longer kept, once `made` is complete. Returns their names.

    Nothing is removed where the new one is not seen at its place.
    """
    backups = store.backups()
    if keep.is_all or made not in {each.name for each in backups}:
        return []
    kept = kept_names(backups, keep) | {made}
    old = [each.name for each in backups if each.name not in kept]
    for name in old:
        store.remove(name)
    return old
