"""Archive of a backup: writes a snapshot as one file, and unpacks a file that is not trusted."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from pathlib import Path
from typing import IO

from app.operations.backups import manifest
from app.operations.backups.manifest import Manifest, UnusableBackup
from app.operations.backups.snapshot import Snapshot

LEVEL = 6
BROKEN = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)


def write(snapshot: Snapshot, out: IO[bytes], *, level: int = LEVEL) -> None:
    """Writes a snapshot. The manifest is the first member, so that a reader knows which ones must follow."""
    made = snapshot.manifest
    with (
        gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=level) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        text = made.as_json()
        tar.addfile(member(manifest.NAME, len(text), made), io.BytesIO(text))
        for name, file in made.files.items():
            with (snapshot.directory / name).open("rb") as content:
                tar.addfile(member(name, file.size, made), content)


def member(name: str, size: int, made: Manifest) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size, found.mode, found.mtime = size, 0o600, int(made.as_of)
    return found


def unpack_archive(source: IO[bytes], directory: Path, *, spare: int = 0) -> Manifest:
    """Unpacks every member into an empty directory, as the manifest lists it, or raises UnusableBackup.

    `spare`: bytes that must stay free on the disk.

    Writes only names that a backup can have, and never more bytes than the manifest says.
    """
    try:
        with tarfile.open(fileobj=source, mode="r|*") as tar:
            made = first(tar)
            require_room(made, directory, spare)
            missing = dict(made.files)
            for found in iter(tar.next, None):
                expected = missing.pop(found.name, None)
                if expected is None or not found.isreg() or found.size != expected.size:
                    raise UnusableBackup(f"This backup is damaged: {found.name!r} is not as its list says.")
                extract_member(tar, found, directory / found.name, expected.sha256)
    except BROKEN as error:
        raise UnusableBackup(f"This is no whole backup: {error}") from None
    if missing:
        raise UnusableBackup(
            f"This backup is not whole: {min(missing)} is missing, and {len(missing) - 1} more."
        )
    return made


def first(tar: tarfile.TarFile) -> Manifest:
    head = tar.next()
    if head is None or head.name != manifest.NAME or not head.isreg() or head.size > manifest.LONGEST:
        raise UnusableBackup("This is no backup of Waypost.")
    content = tar.extractfile(head)
    assert content is not None  # noqa: S101  a regular file has one
    return manifest.parse_manifest(content.read())


def require_room(made: Manifest, directory: Path, spare: int) -> None:
    space = os.statvfs(directory)
    if space.f_bavail * space.f_frsize < made.bytes + spare:
        raise UnusableBackup(f"There is no room for it: {made.bytes >> 20:,} MiB are needed.")


def extract_member(tar: tarfile.TarFile, found: tarfile.TarInfo, target: Path, sha256: str) -> None:
    target.parent.mkdir(mode=0o700, exist_ok=True)
    digest = hashlib.sha256()
    content = tar.extractfile(found)
    assert content is not None  # noqa: S101  a regular file has one
    target.touch(mode=0o600, exist_ok=False)
    with target.open("wb") as file:
        while block := content.read(manifest.BLOCK):
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != sha256:
        raise UnusableBackup(f"This backup is damaged: {found.name} is not what it was.")
