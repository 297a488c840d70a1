"""Where do tables lie that are being taken in?"""

from __future__ import annotations

import fcntl
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = re.compile(r"[0-9a-f]{32}\.csv")


def directory_of(data_dir: Path) -> Path:
    return data_dir / "imports"


def path_of(data_dir: Path, file: str) -> Path:
    """Of a file by its name in the database. Raises ValueError for anything else."""
    if not NAME.fullmatch(file):
        raise ValueError(file)
    return directory_of(data_dir) / file


def new_file(data_dir: Path) -> Path:
    """A path for a new table, which only we can read."""
    directory = directory_of(data_dir)
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory / f"{secrets.token_hex(16)}.csv"


@contextmanager
def held(data_dir: Path, name: str) -> Iterator[bool]:
    """Whether this process is the one that takes this table in, meanwhile; it ends with the process, too.

    A file that is gone or can't be opened is nobody else's: who reads it says so.
    """
    try:
        file = path_of(data_dir, name).open("rb")
    except (OSError, ValueError):
        yield True
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def is_held(data_dir: Path, name: str) -> bool:
    with held(data_dir, name) as is_ours:
        return not is_ours
