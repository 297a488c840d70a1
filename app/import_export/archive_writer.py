"""Writing of an account's ZIP of everything, in pieces, so that it is never in memory whole."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlalchemy import update

from app.accounts.models import User
from app.accounts.rights import may
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.core.machine import machine_id
from app.i18n.messages import lazy_gettext as _l
from app.import_export import archives, shared_files
from app.import_export.archive_contents import Member, members, size_of
from app.import_export.models import Archive

TOLD_SECONDS = 0.5
LEVEL = 6
PROBLEM = _l("Waypost failed to create this file; see its log.")


class ArchiveSuperseded(Exception):
    """The owner was deleted or has asked for a new file, or another machine makes this one."""


class ArchiveProgress:
    """The progress of one file. `done` counts lines, and each picture as one."""

    def __init__(self, row: Archive, machine: str) -> None:
        self.id, self.file, self.machine = row.id, row.file, machine
        self.done, self.told = 0, time.monotonic()

    def add(self, count: int) -> None:
        self.done += count
        if time.monotonic() - self.told >= TOLD_SECONDS:
            self.tell(done=self.done)

    def tell(self, **values: object) -> None:
        """Store these values in the archive's row. Raises ArchiveSuperseded."""
        begin_write(db.session)
        mine = Archive.id == self.id, Archive.file == self.file, Archive.state.in_(archives.UNDER_WAY)
        values |= {"who": self.machine, "lease": now() + archives.LEASE}
        free = archives.is_free(self.machine)
        told = update(Archive).where(*mine, free).values(**values).returning(Archive.id)
        found = db.session.scalar(told, execution_options={"synchronize_session": False})
        db.session.commit()
        if found is None:
            raise ArchiveSuperseded
        self.told = time.monotonic()


def run(archive_id: int, settings: Settings) -> None:
    """Make the file from the beginning. What a killed process wrote of it is overwritten."""
    row = db.session.get(Archive, archive_id)
    if row is None or row.state not in archives.UNDER_WAY:
        return
    making = ArchiveProgress(row, machine_id(settings.data_dir))
    path = archives.path_of(settings.data_dir, row.file)
    draft = path.with_suffix(".part")
    user, site, tries = db.session.get_one(User, row.user_id), row.site, row.tries
    access = access_of(user)
    what = {"workspace_id": access.workspace_id, "has_secrets": may(access, "read_secrets")}
    try:
        if tries >= archives.TRIES:
            making.tell(state=archives.FAILED, problem=PROBLEM)
            return
        making.tell(state=archives.MAKING, tries=tries + 1, done=0, total=size_of(access), **what)
        write(draft, members(access, site), making)
        draft.replace(path)
        shared_files.store(db.session, path, after_part=lambda: making.add(0))
        size = path.stat().st_size
        making.tell(state=archives.DONE, done=making.done, bytes=size, done_datetime=now())
    except ArchiveSuperseded:
        db.session.rollback()
        for left in (draft, path):
            left.unlink(missing_ok=True)


def write(path: Path, found: Iterable[Member], making: ArchiveProgress) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
            for member in found:
                with archive.open(member.name, "w", force_zip64=True) as inside:
                    for piece in in_bytes(member.pieces):
                        inside.write(piece)
                        making.add(piece.count(b"\n") if member.is_text else 0)
                making.add(0 if member.is_text else 1)
        file.flush()
        os.fsync(file.fileno())


def in_bytes(pieces: Iterable[str | bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece.encode() if isinstance(piece, str) else piece
