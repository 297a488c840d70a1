"""Archive of a backup: a list of contents and the files, packed, and encrypted whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from app.operations.backups.encryption import UnusableBackup, decrypt, encrypt, is_encrypted

NAME = "manifest.json"  # the first member, so that a reader knows which ones must follow
FORMAT = 3  # 1 and 2: the secret key in plain text, and encrypted by itself; both are still read
KEYS, ENCRYPTED_KEYS = "secret_key", "secret_key.enc"  # one a line
PACKED = "packed"  # the archive as it is before it is encrypted, in the directory of the files
LEVEL = 6
BLOCK = 1 << 20
MAX_MANIFEST_BYTES = 64 * 1024 * 1024  # half a million pictures
BROKEN = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)

# all names that a backup can hold. A restore writes nothing else, whatever an archive contains: no daily
# salts, and no path outside of the directory
MEMBER = re.compile(
    r"main\.db|clicks\.db|main\.sql|clicks\.sql|secret_key(?:\.enc)?"
    r"|journal/(?:dropped|\d{19}-[0-9a-f]{16}\.v\d+)"
    r"|uploads/[0-9a-f]{32}\.[a-z]{3,4}"
    r"|replaced/\d{1,19}-[0-9a-f]{32}\.[a-z]{3,4}"
    r"|imports/[0-9a-f]{32}\.(?:csv|zip)",
    re.ASCII,
)


@dataclass(frozen=True)
class File:
    """Size and checksum of one member."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """Contents of a backup.

    `as_of`: every visit that was answered before this moment (seconds since 1970) is in the backup.

    `keys`: fingerprints of the secret keys that it needs, the current one first.
    """

    version: str
    database: str
    revisions: list[str]
    as_of: float
    files: dict[str, File]
    keys: list[str] = field(default_factory=list)
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files.values())


@dataclass(frozen=True)
class Snapshot:
    """A copy of an instance in a directory of its own."""

    directory: Path
    manifest: Manifest


# --- writing


def write_archive(
    snapshot: Snapshot, out: IO[bytes], passphrase: str | None = None, *, level: int = LEVEL
) -> None:
    """Writes a snapshot. With a passphrase it is packed on the disk first, and then encrypted."""
    if passphrase is None:
        pack(snapshot, out, level)
        return
    with (snapshot.directory / PACKED).open("w+b") as packed:
        pack(snapshot, packed, level)
        packed.seek(0)
        encrypt(packed.read, out.write, passphrase)


def pack(snapshot: Snapshot, out: IO[bytes], level: int) -> None:
    made = snapshot.manifest
    with (
        gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=level) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        text = json.dumps(asdict(made), indent=1).encode()
        tar.addfile(describe_member(NAME, len(text), made), io.BytesIO(text))
        for name, file in made.files.items():
            with (snapshot.directory / name).open("rb") as content:
                tar.addfile(describe_member(name, file.size, made), content)


def describe_member(name: str, size: int, made: Manifest) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size, found.mode, found.mtime = size, 0o600, int(made.as_of)
    return found


def describe_file(path: Path) -> File:
    """Size and checksum of a file as it is now. Of one that grows meanwhile, only the first size counts."""
    size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as file:
        left = size
        while left and (block := file.read(min(BLOCK, left))):
            digest.update(block)
            left -= len(block)
    return File(size, digest.hexdigest())


# --- reading a file that is not trusted


def unpack_archive(
    source: io.BufferedReader, directory: Path, passphrase: str | None = None, *, spare: int = 0
) -> Manifest:
    """Unpacks every member into an empty directory, as the manifest lists it, or raises UnusableBackup.

    `spare`: bytes that must stay free on the disk.

    Writes only names that a backup can have, and never more bytes than the manifest says.
    """
    if not is_encrypted(source):
        return unpack(source, directory, spare)
    packed = directory / PACKED
    with packed.open("w+b") as plain:

        def write(content: bytes) -> int:
            require_room(len(content), directory, spare)
            return plain.write(content)

        decrypt(source, write, passphrase)
        plain.seek(0)
        made = unpack(plain, directory, spare)
    packed.unlink()
    return made


def unpack(source: IO[bytes], directory: Path, spare: int) -> Manifest:
    try:
        with tarfile.open(fileobj=source, mode="r|*") as tar:
            made = read_manifest(tar)
            require_room(made.bytes, directory, spare)
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


def read_manifest(tar: tarfile.TarFile) -> Manifest:
    head = tar.next()
    if head is None or head.name != NAME or not head.isreg() or head.size > MAX_MANIFEST_BYTES:
        raise UnusableBackup("This is no backup of Waypost.")
    content = tar.extractfile(head)
    assert content is not None  # noqa: S101  a regular file has one
    return parse_manifest(content.read())


def parse_manifest(text: bytes) -> Manifest:
    """Parses a manifest. Raises UnusableBackup for other content, and for the manifest of a newer Waypost."""
    try:
        found: dict[str, Any] = json.loads(text)
        if found["format"] > FORMAT:
            raise UnusableBackup(f"A newer Waypost ({found['version']}) made this backup.")
        made = Manifest(
            version=str(found["version"]),
            database=str(found["database"]),
            revisions=[str(each) for each in found["revisions"]],
            as_of=float(found["as_of"]),
            files={
                name: File(int(each["size"]), str(each["sha256"])) for name, each in found["files"].items()
            },
            keys=[str(each) for each in found.get("keys", [])],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UnusableBackup("This is no backup of Waypost: its list of contents can't be read.") from None
    if strange := [name for name in made.files if not MEMBER.fullmatch(name)]:
        raise UnusableBackup(f"This is no backup of Waypost: it lists {strange[0]!r}.")
    return made


def require_room(size: int, directory: Path, spare: int) -> None:
    space = os.statvfs(directory)
    if space.f_bavail * space.f_frsize < size + spare:
        raise UnusableBackup(f"There is no room for it: {size + spare >> 20:,} MiB are needed.")


def extract_member(tar: tarfile.TarFile, found: tarfile.TarInfo, target: Path, sha256: str) -> None:
    target.parent.mkdir(mode=0o700, exist_ok=True)
    digest = hashlib.sha256()
    content = tar.extractfile(found)
    assert content is not None  # noqa: S101  a regular file has one
    target.touch(mode=0o600, exist_ok=False)
    with target.open("wb") as file:
        while block := content.read(BLOCK):
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != sha256:
        raise UnusableBackup(f"This backup is damaged: {found.name} is not what it was.")
