"""Files of backups: the directory for those without a path, and how one is written whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from app.core.config import Settings
from app.core.durable_files import sync_directory

DIRECTORY = "backups"  # in DATA_DIR, where BACKUP_TO is not set


def own_directory(settings: Settings) -> Path:
    """The directory of backups for which no path is given."""
    directory = settings.data_dir / DIRECTORY
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """Writes a file that is complete and synced to disk, or does not exist."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    draft.touch(mode=0o600, exist_ok=False)
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
        sync_directory(target.parent)
    finally:
        draft.unlink(missing_ok=True)
