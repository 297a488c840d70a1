"""Encryption of whole backups by a passphrase.

An encrypted backup has one line with a key that is made for it, encrypted by the passphrase (argon2id and
AES-256-GCM), and then the archive as a file of age, encrypted for that key. The library of age has streams
for keys only: its functions for passphrases keep all in memory, and take as much of it for scrypt as the
machine can fill in a second.
"""

# see docs/decisions/2026-11-25-scheduled-backups.md
from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyrage
from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.core.config import PREFIX

BEGIN = b"Waypost backup, encrypted: 1 "
MAX_KEY_BYTES = 4096  # of the first line
PURPOSE = b"waypost: key of an encrypted backup v1"
SECRET_KEYS = b"waypost: secret keys in a backup v1"  # in backups of an earlier format
SALT_BYTES, NONCE_BYTES, KEY_BYTES = 16, 12, 32
# what a restore accepts: a made-up archive must not take all memory
MAX_MEMORY_KIB, MAX_TIME, MAX_PARALLELISM = 1024 * 1024, 20, 16
DAMAGED = "This backup is damaged or not whole: it can't be decrypted."
WRONG = "The passphrase is wrong, or the backup is damaged. Nothing was changed."


class UnusableBackup(Exception):
    """This is no backup, or one that can't be used here. The text says why, for people."""


class NotedStream(io.RawIOBase):
    """Reads or writes for the library, and keeps an error: the library words it anew, or ignores it."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        super().__init__()
        self._call = call
        self.error: Exception | None = None

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return bytes(self._noted(size if size > 0 else io.DEFAULT_BUFFER_SIZE))

    def write(self, content: Any) -> int:
        self._noted(content)
        return len(content)

    def _noted(self, argument: Any) -> Any:
        try:
            return self._call(argument)
        except Exception as error:
            self.error = error
            raise


def is_encrypted(source: io.BufferedReader) -> bool:
    return source.peek(len(BEGIN)).startswith(BEGIN)


def encrypt(read: Callable[[int], bytes], write: Callable[[bytes], object], passphrase: str) -> None:
    """Writes what is read to its end, encrypted."""
    identity = pyrage.x25519.Identity.generate()
    write(BEGIN + encrypt_keys([str(identity)], passphrase) + b"\n")
    reader, writer = NotedStream(read), NotedStream(write)
    try:
        pyrage.encrypt_io(reader, writer, [identity.to_public()])
    except pyrage.EncryptError as error:
        raise reader.error or writer.error or error from None
    if writer.error is not None:
        raise writer.error


def decrypt(source: io.BufferedReader, write: Callable[[bytes], object], passphrase: str | None) -> None:
    """Writes the content of an encrypted backup. Raises UnusableBackup where it was changed or cut."""
    if passphrase is None:
        raise UnusableBackup(
            "This backup is encrypted: add --passphrase or --passphrase-file, or set"
            f" {PREFIX}BACKUP_PASSPHRASE."
        )
    line = source.readline(MAX_KEY_BYTES)
    if not line.endswith(b"\n"):
        raise UnusableBackup(DAMAGED)
    (text,) = decrypt_keys(line.removeprefix(BEGIN), passphrase, PURPOSE)
    reader, writer = NotedStream(source.read), NotedStream(write)
    try:
        pyrage.decrypt_io(reader, writer, [pyrage.x25519.Identity.from_str(text)])
    except (pyrage.DecryptError, OSError):
        raise reader.error or writer.error or UnusableBackup(DAMAGED) from None
    if writer.error is not None:
        raise writer.error


@dataclass(frozen=True)
class Cost:
    """Cost of argon2id: the second set that RFC 9106 recommends, with more memory."""

    memory_kib: int = 128 * 1024
    time: int = 3
    parallelism: int = 4


def encrypt_keys(keys: Sequence[str], passphrase: str) -> bytes:
    salt, nonce, cost = os.urandom(SALT_BYTES), os.urandom(NONCE_BYTES), Cost()
    cipher = AESGCM(derive(passphrase, salt, cost))
    found = {
        **asdict(cost),
        "salt": encode(salt),
        "nonce": encode(nonce),
        "ciphertext": encode(cipher.encrypt(nonce, json.dumps(list(keys)).encode(), PURPOSE)),
    }
    return json.dumps(found).encode()


def decrypt_keys(content: bytes, passphrase: str, purpose: bytes) -> list[str]:
    """The keys. Raises UnusableBackup for a wrong passphrase, or content not of `encrypt_keys`."""
    try:
        found: dict[str, Any] = json.loads(content)
        cost = Cost(*(int(found[name]) for name in ("memory_kib", "time", "parallelism")))
        salt, nonce, ciphertext = (
            base64.b64decode(found[name], validate=True) for name in ("salt", "nonce", "ciphertext")
        )
    except (ValueError, KeyError, TypeError):
        raise UnusableBackup(DAMAGED) from None
    limits = (cost.memory_kib, MAX_MEMORY_KIB), (cost.time, MAX_TIME), (cost.parallelism, MAX_PARALLELISM)
    is_bounded = all(1 <= given <= most for given, most in limits)
    is_whole = (len(salt), len(nonce)) == (SALT_BYTES, NONCE_BYTES)
    if not (is_bounded and is_whole) or cost.memory_kib < 8 * cost.parallelism:
        raise UnusableBackup(DAMAGED)
    try:
        plain = AESGCM(derive(passphrase, salt, cost)).decrypt(nonce, ciphertext, purpose)
    except InvalidTag:
        raise UnusableBackup(WRONG) from None
    return [str(key) for key in json.loads(plain)]


def derive(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    return hash_secret_raw(
        passphrase.encode(), salt, cost.time, cost.memory_kib, cost.parallelism, KEY_BYTES, Type.ID
    )


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()
