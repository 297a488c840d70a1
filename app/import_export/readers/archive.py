"""Reader of Waypost's own ZIP: its list of links as JSON, and their pictures.

A ZIP may be hostile. The size of its directory is limited before it is read, its names are compared but never
used as paths, and no member is read beyond a limit of ours, whatever the directory says about its size.
See docs/decisions/2026-11-22-imports-of-archives.md.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import BoundedSemaphore
from typing import Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from app.core.errors import Busy, FieldError
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export.readers import json
from app.import_export.readers.reader import FormatReader, UnreadableTable
from app.input.data import Upload
from app.input.parsers import Rejected

SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")  # of a ZIP with members, and of an empty one
LINKS = "links.json"
ENCODING = "utf-8-sig"
MAX_ENTRIES = 100_000
# of the directory, which is read into memory whole; 100,000 of our pictures take 9 MB
MAX_DIRECTORY_BYTES = 12 * 1024 * 1024
MAX_LINKS_BYTES = 1024**3  # as of any other file to import
MAX_PICTURE_BYTES = 5 * 1024 * 1024  # the most that any field takes; the field itself may take less
METHODS = {ZIP_STORED, ZIP_DEFLATED}  # others may take gigabytes of memory to unpack
IS_ENCRYPTED = 0x1 | 0x40

# ZIPs that requests to one process unpack at once; others wait for so long
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

    def member(self, name: str, limit: int) -> ZipInfo:
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
        if found[0].file_size > limit:
            raise ArchiveTooLarge(LARGE)
        return found[0]

    def picture(self, name: str) -> Upload:
        """A picture like an upload, not validated yet. Raises Rejected."""
        try:
            info = self.member(name, MAX_PICTURE_BYTES)
            # asked for a number of bytes, zipfile unpacks no more
            with self.zip.open(info) as member:
                content = member.read(MAX_PICTURE_BYTES)
            if len(content) == info.file_size:
                return Upload(name, content)
            said = DAMAGED
        except ArchiveTooLarge:
            return oversize(name)
        except Unusable as error:
            said = error.args[0]
        except BROKEN_MEMBER:
            said = DAMAGED
        raise Rejected(_l("This picture can't be read. %(error)s", error=said), "picture")


class LinksText(io.TextIOWrapper):
    """The text of the list of links. Raises UnreadableTable while it is read. It closes its ZIP, too."""

    def __init__(self, reader: ArchiveReader, encoding: str) -> None:
        info = reader.member(LINKS, MAX_LINKS_BYTES)
        super().__init__(reader.zip.open(info), encoding, "replace", newline="")
        self.reader, self.size = reader, info.file_size

    def read(self, size: int | None = -1, /) -> str:
        try:
            return super().read(size)
        except BROKEN_MEMBER:
            raise unreadable(DAMAGED) from None

    def close(self) -> None:
        super().close()
        self.reader.close()


def open_links(path: Path, encoding: str) -> LinksText:
    """Raises UnreadableTable."""
    reader = ArchiveReader(path)
    if LINKS not in reader.members:
        reader.close()
        raise UnreadableTable(FOREIGN)
    try:
        return LinksText(reader, encoding)
    except (Unusable, *BROKEN_MEMBER) as error:
        reader.close()
        raise unreadable(error.args[0] if isinstance(error, Unusable) else DAMAGED) from None


def unreadable(why: str) -> UnreadableTable:
    return UnreadableTable(_l("The links.json in this ZIP can't be read. %(error)s", error=why))


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


@contextmanager
def unpacking() -> Iterator[None]:
    """Bound the ZIPs that are unpacked at once. Raises Busy where too many others are."""
    if not _slots.acquire(timeout=WAIT_SECONDS):
        raise Busy(
            RETRY_SECONDS,
            FieldError(_l("Other users are importing ZIPs at the moment. Try again soon."), "busy"),
        )
    try:
        yield
    finally:
        _slots.release()


# `is_zip` recognises one by its bytes: what it holds is JSON
READER = FormatReader(lambda _head: False, json.elements, json.READER.nothing, open_links)
