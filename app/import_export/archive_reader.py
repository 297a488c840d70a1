"""Reader of Waypost's own ZIP: its list of links, their pictures, and the handlers and projects they name.

A ZIP may be hostile. The size of its directory is limited before it is read, its names are compared but never
used as paths, and each member is read up to a limit of ours, whatever the directory says about its size.
See docs/decisions/2026-11-22-imports-of-archives.md.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from app.core.errors import Busy, FieldError
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export.attachments import Description, by_name
from app.import_export.files import archive_of, require_room
from app.import_export.sniff import UnreadableTable
from app.import_export.value_parsers import COLOR, Name
from app.input.data import Upload
from app.input.parsers import Rejected

SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")  # of a ZIP with members, and of an empty one
LINKS, HANDLERS, PROJECTS = "links.json", "notification-handlers.json", "projects.json"
MAX_ENTRIES = 100_000
# of the directory, which is read into memory whole; 100,000 of our pictures take 9 MB
MAX_DIRECTORY_BYTES = 12 * 1024 * 1024
MAX_LINKS_BYTES = 1024**3  # as of any other file to import
MAX_LIST_BYTES = 4 * 1024 * 1024
MAX_PICTURE_BYTES = 5 * 1024 * 1024  # the most that any field takes; the field itself may take less
BLOCK = 256 * 1024
ROOM_BYTES = 64 * 1024 * 1024  # written between two checks of the free disk space
METHODS = {ZIP_STORED, ZIP_DEFLATED}  # others may take gigabytes of memory to unpack
IS_ENCRYPTED = 0x1 | 0x40

# ZIPs that one process unpacks at once; others wait for so long
MAX_UNPACKED, WAIT_SECONDS, RETRY_SECONDS = 2, 10.0, 10
_slots = BoundedSemaphore(MAX_UNPACKED)

# what zipfile raises on damaged input, as found by experiment
BROKEN = (BadZipFile, NotImplementedError, ValueError, RuntimeError, EOFError, LookupError, OverflowError)
BROKEN_MEMBER = (*BROKEN, struct.error, zlib.error)

NO_ZIP = _l("This ZIP is damaged, or not all of it is here.")
MANY = _l("This ZIP has more than %(most)s files.", most=lazy_digits(MAX_ENTRIES))
FOREIGN = _l(
    "There is no links.json in this ZIP. Of ZIPs, only Waypost's own file of everything is read:"
    " unpack others, and save a spreadsheet as CSV (UTF-8)."
)
MISSING, TWICE = _l("It is not in the ZIP."), _l("The ZIP has it more than once.")
ENCRYPTED, METHOD = _l("It is encrypted in the ZIP."), _l("It is compressed in a way that is not read.")
DAMAGED, LARGE = _l("It is damaged in the ZIP."), _l("It is too large.")


class Unusable(Exception):
    """A member can't be read. The text says why, for a person."""


class ArchiveTooLarge(Unusable):
    """A member is larger than its limit."""


class BoundedFile(io.BufferedReader):
    """A file that reads no more than `MAX_DIRECTORY_BYTES` at once: zipfile reads a directory whole."""

    def read(self, size: int | None = -1, /) -> bytes:
        limit = MAX_DIRECTORY_BYTES
        if size is not None and size > limit:
            raise BadZipFile(MANY)
        piece = super().read(limit + 1 if size is None or size < 0 else size)
        if len(piece) > limit:
            raise BadZipFile(MANY)
        return piece


class ArchiveReader:
    """One open ZIP. Raises UnreadableTable where it is none."""

    def __init__(self, path: Path) -> None:
        self.file = BoundedFile(io.FileIO(path, "rb"))
        try:
            self.zip = ZipFile(self.file)
            self.size = path.stat().st_size
            self.members = members_of(self.zip)
        except (*BROKEN, struct.error) as error:
            self.file.close()
            raise UnreadableTable(MANY if str(error) == MANY else NO_ZIP) from None
        except BaseException:
            self.file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.zip.close()
        self.file.close()

    def member(self, name: str) -> ZipInfo:
        """The member with this name. Raises Unusable, also where there are several."""
        found = self.members.get(name, ())
        if len(found) != 1:
            raise Unusable(TWICE if found else MISSING)
        if found[0].flag_bits & IS_ENCRYPTED:
            raise Unusable(ENCRYPTED)
        if found[0].compress_type not in METHODS:
            raise Unusable(METHOD)
        if not 0 <= found[0].header_offset < self.size:
            raise Unusable(DAMAGED)
        return found[0]

    def pieces(self, name: str, limit: int) -> Iterator[bytes]:
        """The content of a member. Raises Unusable, ArchiveTooLarge after `limit` bytes."""
        info, size = self.member(name), 0
        try:
            with self.zip.open(info) as member:
                while piece := member.read(BLOCK):
                    size += len(piece)
                    if size > limit:
                        raise ArchiveTooLarge(LARGE)
                    yield piece
        except BROKEN_MEMBER:
            raise Unusable(DAMAGED) from None
        if size != info.file_size:
            raise Unusable(DAMAGED)

    def read(self, name: str, limit: int) -> bytes:
        """The whole of a small member. Raises Unusable."""
        return b"".join(self.pieces(name, limit))

    def picture(self, name: str) -> Upload:
        """A picture like an upload, not validated yet. Raises Rejected."""
        try:
            return Upload(name, self.read(name, MAX_PICTURE_BYTES))
        except ArchiveTooLarge:
            return oversize(name)
        except Unusable as error:
            raise Rejected(
                _l("This picture can't be read. %(error)s", error=error.args[0]), "picture"
            ) from None

    @cached_property
    def handlers(self) -> Mapping[Name, list[Description]]:
        """Its notification handlers by type and name, in their order."""
        return by_name(self.rows(HANDLERS))

    @cached_property
    def colors(self) -> Mapping[str, str]:
        """Colours of its projects, by name."""
        colors = {str(row.get("name")): str(row.get("color")) for row in self.rows(PROJECTS)}
        return {name: color for name, color in colors.items() if COLOR.fullmatch(color)}

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The objects in a small list; none where it can't be read, and rows that need one of them fail."""
        try:
            found = json.loads(self.read(name, MAX_LIST_BYTES))
        except (Unusable, ValueError, RecursionError):
            return []
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def oversize(name: str) -> Upload:
    """An upload that is too large for every field; the field words the error with its own limit."""
    return Upload(name, bytes(MAX_PICTURE_BYTES + 1))


def members_of(archive: ZipFile) -> dict[str, list[ZipInfo]]:
    """The members by name; a ZIP may have several with one name."""
    if len(archive.filelist) > MAX_ENTRIES:
        raise BadZipFile(MANY)
    found: dict[str, list[ZipInfo]] = defaultdict(list)
    for info in archive.filelist:
        found[info.filename].append(info)
    return found


def is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in SIGNATURES


def unpack(path: Path) -> None:
    """Replace the ZIP at `path` by its list of links, and keep the ZIP beside it.

    Raises UnreadableTable, Invalid where the disk is full, Busy where too many others are being unpacked.
    """
    if not _slots.acquire(timeout=WAIT_SECONDS):
        raise Busy(
            RETRY_SECONDS,
            FieldError(_l("Other users are importing ZIPs at the moment. Try again soon."), "busy"),
        )
    draft = path.with_suffix(".part")
    try:
        with ArchiveReader(path) as archive:
            write_links(archive, draft)
        path.replace(archive_of(path))
        draft.replace(path)
    finally:
        _slots.release()
        draft.unlink(missing_ok=True)


def write_links(archive: ArchiveReader, path: Path) -> None:
    if LINKS not in archive.members:
        raise UnreadableTable(FOREIGN)
    written = 0
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        try:
            for piece in archive.pieces(LINKS, MAX_LINKS_BYTES):
                if written % ROOM_BYTES < len(piece):
                    require_room(out.fileno())
                written += out.write(piece)
        except Unusable as error:
            raise UnreadableTable(
                _l("The links.json in this ZIP can't be read. %(error)s", error=error.args[0])
            ) from None


def open_archive(path: Path) -> ArchiveReader | None:
    """The ZIP that the table at `path` was in. Raises UnreadableTable."""
    archive = archive_of(path)
    return ArchiveReader(archive) if archive.exists() else None
