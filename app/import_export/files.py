"""Files of imports and archives: on this machine's disk, and in PostgreSQL for all machines that share it.

There the file on disk is a copy: a machine that does not have it fetches it, when it needs it. With SQLite
there is one machine, and the file on its disk is all there is.
"""

# see docs/decisions/2026-11-25-files-of-several-machines.md
from __future__ import annotations

import datetime as dt
import fcntl
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from sqlalchemy import Engine, Table, delete, func, insert, select

from app.core.clock import now
from app.core.database import AnySession
from app.core.durable_files import MARK
from app.core.errors import FieldError, Invalid
from app.i18n.messages import lazy_gettext as _l
from app.import_export.models import UNFINISHED, Archive, FilePart, LinkImport

SPARE_BYTES = 256 * 1024 * 1024  # of the disk, kept free for the journal
NAME = re.compile(r"[0-9a-f]{32}\.csv")
PART_BYTES = 1024 * 1024  # of a file in one row and one transaction
YOUNGEST = dt.timedelta(hours=1)  # the parts of a file are written before the row that names it
PARTS = cast("Table", FilePart.__table__)


def directory_of(data_dir: Path) -> Path:
    return data_dir / "imports"


def path_of(data_dir: Path, file: str) -> Path:
    """The path of a table by its name in the database. Raises ValueError for any other name."""
    if not NAME.fullmatch(file):
        raise ValueError(file)
    return directory_of(data_dir) / file


def new_file(data_dir: Path) -> Path:
    """A path for a new table, in a directory that only this user can read."""
    directory = directory_of(data_dir)
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory / f"{secrets.token_hex(16)}.csv"


def require_room(place: Path | int, more: int = 0) -> None:
    """Raises Invalid where `more` bytes would leave too little free space for the journal."""
    space = os.statvfs(place)
    if space.f_bavail * space.f_frsize < more + SPARE_BYTES:
        raise Invalid(FieldError(_l("The server has no space for this file."), "no_room", "file"))


@contextmanager
def lock_table(data_dir: Path, name: str) -> Iterator[bool]:
    """Lock the table for this process; yields whether it got the lock. The lock also ends with the process.

    Yields True for a file that is missing or can't be opened: reading it then reports the problem.
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
    with lock_table(data_dir, name) as is_ours:
        return not is_ours


# --- for all machines


def engine_of(session: AnySession) -> Engine | None:
    """The engine for parts, whose transactions are their own; None where files are not shared."""
    engine = session.get_bind()
    assert isinstance(engine, Engine)  # noqa: S101  sessions here have nothing else
    return engine if engine.dialect.name == "postgresql" else None


def store(session: AnySession, path: Path, after_part: Callable[[], object] = lambda: None) -> None:
    """Store a file for other machines. Nothing on SQLite."""
    if (engine := engine_of(session)) is None:
        return
    with path.open("rb") as file:
        number, content = 0, file.read(PART_BYTES)
        while number == 0 or content:
            following = file.read(PART_BYTES)
            row = {"file": path.name, "number": number, "content": content, "is_last": not following}
            with engine.begin() as connection:
                connection.execute(insert(PARTS), [row])
            after_part()
            number, content = number + 1, following


def fetch(session: AnySession, path: Path) -> bool:
    """Bring a file to this machine's disk, unless it is there. Returns whether it is there now.

    Raises Invalid where the disk has no room for it.
    """
    engine = engine_of(session)
    if path.exists() or engine is None:
        return path.exists()
    last = count_parts(engine, path.name)
    if last is None:
        return False
    path.parent.mkdir(mode=0o700, exist_ok=True)
    require_room(path.parent, last * PART_BYTES)
    draft = path.with_name(f".{path.name}{MARK}{secrets.token_hex(8)}")
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            for number in range(last):
                file.write(read_part(engine, path.name, number))
        with suppress(FileExistsError):  # another process was faster, and may have locked its copy
            os.link(draft, path)
    except FileNotFoundError:
        return False  # its parts were removed meanwhile
    finally:
        draft.unlink(missing_ok=True)
    return True


def is_there(session: AnySession, path: Path) -> bool:
    """Whether a file is on this machine's disk or can be fetched."""
    engine = engine_of(session)
    return path.is_file() or (engine is not None and count_parts(engine, path.name) is not None)


def count_parts(engine: Engine, name: str) -> int | None:
    """The number of a file's parts; None where it is not stored, or not to its end."""
    with engine.connect() as connection:
        wanted = select(PARTS.c.number + 1).where(PARTS.c.file == name, PARTS.c.is_last)
        return cast("int | None", connection.scalar(wanted))


def read_part(engine: Engine, name: str, number: int) -> bytes:
    """The content of a part. Raises FileNotFoundError."""
    with engine.connect() as connection:
        wanted = select(PARTS.c.content).where(PARTS.c.file == name, PARTS.c.number == number)
        found = connection.scalar(wanted)
    if found is None:
        raise FileNotFoundError(name)
    return bytes(found)


def remove(session: AnySession, names: Collection[str]) -> None:
    """Remove the parts of these files."""
    if (engine := engine_of(session)) is None:
        return
    for name in names:
        with engine.begin() as connection:
            connection.execute(delete(PARTS).where(PARTS.c.file == name))


def sweep(session: AnySession) -> None:
    """Remove the parts of files that no unfinished import and no archive needs."""
    if engine_of(session) is None:
        return
    newest = select(FilePart.file).group_by(FilePart.file)
    old = session.scalars(newest.having(func.max(FilePart.datetime) < now() - YOUNGEST)).all()
    needed = {*session.scalars(select(LinkImport.file).where(LinkImport.state.in_(UNFINISHED)))}
    needed |= {*session.scalars(select(Archive.file))}
    session.rollback()
    remove(session, [name for name in old if name not in needed])
