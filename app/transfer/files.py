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
def held(path: Path) -> Iterator[bool]:
    """Whether this process is the one that takes this table in, meanwhile; it ends with the process, too.

    A file that is gone is nobody else's: who opens it says so.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield True
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def is_held(path: Path) -> bool:
    with held(path) as is_ours:
        return not is_ours
