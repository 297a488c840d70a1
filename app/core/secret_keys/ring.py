"""Secret keys: the instance's current one and, while a rotation is under way, those before and after it.

The current one encrypts and signs; all of them decrypt. The next one is known to every process before it
becomes the current one, so that no process meets a value that it can't decrypt. The keys are in files in
DATA_DIR, unless the operator's settings name them; then only a restart reads other ones. A running process
finds a file that `flask secrets rotate` has written within CHECK_SECONDS.
"""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.core.durable_files import create_file, replace_file

FILE, OLD_FILE, NEXT_FILE = "secret_key", "secret_key.old", "secret_key.next"
RETIRED_DIRECTORY = "retired_keys"
CHECK_SECONDS = 1.0
FINGERPRINT_BYTES = 8
MAX_FILE_BYTES = 64 * 1024

Stamp = tuple[tuple[int, int, int] | None, ...]


class UnreadableKey(Exception):
    """The file of a secret key holds none. The text says why, for a person."""


@lru_cache(maxsize=16)
def derive(secret: str, purpose: str, length: int = 32) -> bytes:
    """A key for one purpose alone (HKDF-SHA256)."""
    return HKDF(hashes.SHA256(), length, salt=None, info=purpose.encode()).derive(secret.encode())


def fingerprint(secret: str) -> str:
    """Identifies a key without revealing it: 16 hexadecimal digits."""
    return derive(secret, "waypost secret key fingerprint v1", FINGERPRINT_BYTES).hex()


class SecretKeys:
    """The keys of this process: those of the files in `directory`, or without one the two given."""

    def __init__(self, current: str = "", old: str = "", directory: Path | None = None) -> None:
        self._keys = () if directory else distinct(current, old)
        self._directory = directory
        self._stamp: Stamp = ()
        self.reload()

    def all(self) -> tuple[str, ...]:
        """All keys, the current one first."""
        if self._directory is not None and time.monotonic() >= self._next_check:
            self.reload()
        return self._keys

    def current(self) -> str:
        keys = self.all()
        if not keys:
            raise RuntimeError("there is no secret key: commands that need one begin by `migrate_first`")
        return keys[0]

    def signing(self) -> list[str]:
        """The keys as itsdangerous takes them: the last one signs, each of them verifies."""
        self.current()
        return list(reversed(self.all()))

    def reload(self) -> None:
        """Reads the files again if they have changed. Keys whose files are lost meanwhile stay known."""
        self._next_check = time.monotonic() + CHECK_SECONDS
        stamp = self.stamp()
        if self._directory is None or stamp == self._stamp:
            return
        with suppress(OSError, UnreadableKey):
            if current := read_key(self._directory / FILE):
                others = (read_key(self._directory / name) for name in (OLD_FILE, NEXT_FILE))
                self._keys = distinct(current, *others)
                self._stamp = stamp

    def stamp(self) -> Stamp:
        return (
            tuple(stamp_of(self._directory / name) for name in (FILE, OLD_FILE, NEXT_FILE))
            if self._directory
            else ()
        )


def stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def distinct(*keys: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for key in keys if key))


_keys: SecretKeys | None = None


def use_keys(keys: SecretKeys) -> None:
    """Sets the keys of this process."""
    global _keys  # one ring a process, set by create_app
    _keys = keys


def current_keys() -> SecretKeys:
    if _keys is None:
        raise RuntimeError("no secret keys: create_app sets them")
    return _keys


def flask_settings() -> dict[str, object]:
    """Keys that Flask's sessions and Flask-WTF's tokens are signed with, and older ones that still verify."""
    known = current_keys().all()
    return {
        "SECRET_KEY": known[0] if known else None,
        "SECRET_KEY_FALLBACKS": list(known[1:]),
        "WTF_CSRF_SECRET_KEY": list(reversed(known)) or None,
    }


def read_key(path: Path) -> str:
    """The key in a file, "" where there is no file. Raises UnreadableKey, OSError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ""
    try:
        key = content.decode("ascii").strip()
    except UnicodeDecodeError:
        raise UnreadableKey(f"{path} is damaged: it holds no text.") from None
    if not key:
        raise UnreadableKey(f"{path} is empty.")
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableKey(f"{path} is damaged: it is too long for a key.")
    return key


def new_key() -> str:
    return secrets.token_urlsafe(48)


def create_key(path: Path) -> str:
    """Makes a key in a file of mode 0600 once, and returns it. Of two processes that start at the same time,
    the first one's stays."""
    create_file(path, new_key().encode("ascii"))
    return read_key(path)


def replace_key(path: Path, key: str) -> None:
    """Writes a key in place of the one in the file, whole or not at all."""
    replace_file(path, key.encode("ascii"))
