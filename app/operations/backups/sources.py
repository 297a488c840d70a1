"""Sources of a restore or a rehearsal: an open file, or a backup at its place."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from app.core.config import Settings
from app.core.storage_settings import S3
from app.operations.backups.backup_files import DIRECTORY
from app.operations.backups.manifest import UnusableBackup
from app.operations.backups.stores import LATEST, BackupStore, latest, open_store


class NamedBackup(NamedTuple):
    """A backup by its place and name."""

    store: BackupStore
    name: str


def own_store(settings: Settings) -> BackupStore:
    """The place of backups for which no path is given."""
    return open_store(settings, settings.backup_to or str(settings.data_dir / DIRECTORY))


def find_backup(settings: Settings, text: str) -> NamedBackup:
    """The backup that a command names: `latest`, a name, a file, or s3://bucket/prefix/name."""
    if text.startswith(S3):
        target, _, name = text.rpartition("/")
        if target == S3.rstrip("/") or not name:
            raise UnusableBackup(f"{text} names no backup: add its name, after a slash.")
        return NamedBackup(open_store(settings, target), name)
    if "/" in text:
        path = Path(text)
        return NamedBackup(open_store(settings, str(path.parent)), path.name)
    store = own_store(settings)
    return NamedBackup(store, latest(store).name if text == LATEST else text)


@contextlib.contextmanager
def opened_source(settings: Settings, source: str | io.BufferedReader) -> Iterator[io.BufferedReader]:
    """The content of a backup, encrypted or not."""
    if not isinstance(source, str):
        yield source
        return
    found = find_backup(settings, source)
    with found.store.open(found.name) as opened:
        yield opened
