"""Writes files so that they survive a power cut: whole or not at all, and their names too."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# marks the name of a draft, so that drafts of killed processes can be recognised
MARK = "~"


def create_file(path: Path, content: bytes) -> None:
    """Writes a file of mode 0600 once. Of two processes that do so at once, the first one's stays."""

    def link_once(draft: Path) -> None:
        with suppress(FileExistsError):
            os.link(draft, path)

    write_file(path, content, link_once)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file of mode 0600 in place of the existing one, whole or not at all."""
    write_file(path, content, lambda draft: draft.replace(path))


def write_file(path: Path, content: bytes, put: Callable[[Path], object]) -> None:
    """Writes and syncs a draft, has `put` give it its name, and syncs the directory."""
    draft = path.with_name(f".{path.name}{MARK}{secrets.token_hex(8)}")
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        put(draft)
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)


@contextmanager
def scratch_folder(parent: Path, start: str) -> Iterator[Path]:
    """A temporary folder on the disk of `parent`, so that its files are put in place by a rename.

    Removes what killed processes left: the caller holds a lock.
    """
    for left in parent.glob(f"{start}*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = parent / f"{start}{os.getpid()}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_drafts(directory: Path, pattern: str) -> None:
    """Removes drafts that killed processes left of files whose names match `pattern`."""
    for draft in directory.glob(f".{pattern}{MARK}{'[0-9a-f]' * 16}"):
        draft.unlink(missing_ok=True)


def remove_file(path: Path) -> None:
    """Removes a file durably. It may be missing."""
    path.unlink(missing_ok=True)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Syncs a directory, so that the names in it are as durable as the files' contents."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
