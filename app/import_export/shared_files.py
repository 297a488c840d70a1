"""Files of imports and archives in the database, for all machines that share it.

The file on disk is a copy then: a machine that does not have it fetches it, when it needs it. With SQLite
there is one machine, and the file on its disk is all there is.
"""

# see docs/decisions/2026-11-25-files-of-several-machines.md
from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

from sqlalchemy import Engine, Table, delete, func, insert, select

from app.core.clock import now
from app.core.database import AnySession
from app.core.durable_files import MARK
from app.import_export.files import archive_of, require_room
from app.import_export.models import Archive, FilePart, LinkImport
from app.import_export.services import UNFINISHED

PART_BYTES = 1024 * 1024  # of a file in one row and one transaction
YOUNGEST = dt.timedelta(hours=1)  # the parts of a file are written before the row that names it

PARTS = cast("Table", FilePart.__table__)


def engine_of(session: AnySession) -> Engine | None:
    """The engine for parts, whose transactions are their own; None where files are not shared."""
    engine = session.get_bind()
    assert isinstance(engine, Engine)  # noqa: S101  sessions here have nothing else
    return engine if engine.dialect.name == "postgresql" else None


def store(session: AnySession, path: Path, after_part: Callable[[], object] = lambda: None) -> None:
    """Store a file for other machines; of a table, the ZIP that it came in, too. Nothing on SQLite."""
    engine = engine_of(session)
    if engine is None:
        return
    for each in {path, archive_of(path)}:
        for number, content, is_last in parts_of(each) if each.exists() else ():
            row = {"file": each.name, "number": number, "content": content, "is_last": is_last}
            with engine.begin() as connection:
                connection.execute(insert(PARTS), [row])
            after_part()


def parts_of(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """The number and the content of each part of a file, and whether it is the last."""
    with path.open("rb") as file:
        number, content = 0, file.read(PART_BYTES)
        while True:
            following = file.read(PART_BYTES)
            yield number, content, not following
            if not following:
                return
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
    engine = engine_of(session)
    if engine is None:
        return
    for name in names:
        with engine.begin() as connection:
            connection.execute(delete(PARTS).where(PARTS.c.file == name))


def sweep(session: AnySession) -> int:
    """Remove the parts of files that no unfinished import and no archive needs. Returns of how many files."""
    if engine_of(session) is None:
        return 0
    newest = select(FilePart.file).group_by(FilePart.file)
    old = session.scalars(newest.having(func.max(FilePart.datetime) < now() - YOUNGEST)).all()
    names = [*session.scalars(select(LinkImport.file).where(LinkImport.state.in_(UNFINISHED)))]
    names += session.scalars(select(Archive.file))
    session.rollback()
    needed = {stem_of(name) for name in names}
    left = [name for name in old if stem_of(name) not in needed]
    remove(session, left)
    return len(left)


def stem_of(name: str) -> str:
    """What the names of a table and its ZIP have in common."""
    return name.partition(".")[0]
