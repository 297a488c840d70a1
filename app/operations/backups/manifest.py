"""Manifest of a backup: the first member of the archive, which lists all others and the version."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

NAME = "manifest.json"
FORMAT = 2  # 1: without `keys`, and with the secret key in plain text
PLAIN_KEY, ENCRYPTED_KEYS = "secret_key", "secret_key.enc"
BLOCK = 1 << 20
LONGEST = 64 * 1024 * 1024  # of the manifest itself: half a million pictures

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

    `counts`: rows of each table, which a rehearsal compares. Older backups have none.
    """

    version: str
    database: str
    revisions: list[str]
    as_of: float
    files: dict[str, File]
    keys: list[str] = field(default_factory=list)
    format: int = FORMAT
    counts: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1).encode()

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files.values())


class UnusableBackup(Exception):
    """This is no backup, or one that can't be used here. The text says why, for people."""


def parse_manifest(text: bytes) -> Manifest:
    """Parses a manifest. Raises UnusableBackup for other content, and for the manifest of a newer Waypost."""
    try:
        found: dict[str, Any] = json.loads(text)
        if found["format"] > FORMAT:
            raise UnusableBackup(f"A newer Waypost ({found['version']}) made this backup.")
        files = {name: File(int(each["size"]), str(each["sha256"])) for name, each in found["files"].items()}
        made = Manifest(
            version=str(found["version"]),
            database=str(found["database"]),
            revisions=[str(each) for each in found["revisions"]],
            as_of=float(found["as_of"]),
            files=files,
            keys=[str(each) for each in found.get("keys", [])],
            counts={str(name): int(count) for name, count in found.get("counts", {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UnusableBackup("This is no backup of Waypost: its list of contents can't be read.") from None
    if strange := [name for name in files if not MEMBER.fullmatch(name)]:
        raise UnusableBackup(f"This is no backup of Waypost: it lists {strange[0]!r}.")
    return made


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
