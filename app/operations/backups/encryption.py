"""Encryption of whole backups by a passphrase.

An encrypted backup has one line with a key that is made for it, encrypted by the passphrase as the secret key
in a backup is, and then the archive as a file of age, encrypted for that key. The library of age has streams
for keys only: its functions for passphrases keep all in memory, and take as much of it for scrypt as the
machine can fill in a second.
"""

# see docs/decisions/2026-11-25-scheduled-backups.md
from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from threading import Thread
from typing import IO, Any

import pyrage

from app.core.config import PREFIX
from app.operations.backups.key_encryption import decrypt_keys, encrypt_keys
from app.operations.backups.manifest import UnusableBackup

SUFFIX = ".age"
BEGIN = b"Waypost backup, encrypted: 1 "
MAX_KEY_BYTES = 4096  # of the first line
PURPOSE = b"waypost: key of an encrypted backup v1"
DAMAGED = "This backup is damaged or not whole: it can't be decrypted."


def is_encrypted(source: io.BufferedReader) -> bool:
    return source.peek(len(BEGIN)).startswith(BEGIN)


class NotedReader(io.RawIOBase):
    """Reads for the library, which turns an error into a text of its own. This keeps it."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        super().__init__()
        self._read = read
        self.error: Exception | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            return self._read(size if size > 0 else io.DEFAULT_BUFFER_SIZE)
        except Exception as error:
            self.error = error
            raise


class NotedWriter(io.RawIOBase):
    """Writes for the library, and keeps the error: for the last kilobytes the library itself ignores it."""

    def __init__(self, write: Callable[[Any], object]) -> None:
        super().__init__()
        self._write = write
        self.error: Exception | None = None

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        try:
            rest = memoryview(content)
            while rest:
                taken = self._write(rest)
                rest = rest[taken if isinstance(taken, int) else len(rest) :]
        except Exception as error:
            self.error = error
            raise
        return len(content)


class Beside(Thread):
    """A thread that does one call of the library, and closes its end of the pipe then."""

    def __init__(self, call: Callable[[], object], end: int) -> None:
        super().__init__(name="backup encryption", daemon=True)
        self.call, self.end = call, end
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self.call()
        except Exception as error:  # noqa: BLE001  raised by who waits for this thread
            self.error = error
        finally:
            os.close(self.end)


@contextlib.contextmanager
def encrypted(out: IO[bytes], passphrase: str) -> Iterator[IO[bytes]]:
    """A stream whose content is written to `out`, encrypted; not to its end where the block fails."""
    identity = pyrage.x25519.Identity.generate()
    out.write(BEGIN + encrypt_keys([str(identity)], passphrase, PURPOSE) + b"\n")
    reading, writing = os.pipe()
    is_complete = False

    def read(size: int) -> bytes:
        found = os.read(reading, size)
        if not found and not is_complete:
            raise EOFError("the archive was not written to its end")
        return found

    reader, writer = NotedReader(read), NotedWriter(out.write)
    thread = Beside(lambda: pyrage.encrypt_io(reader, writer, [identity.to_public()]), reading)
    thread.start()
    try:
        with os.fdopen(writing, "wb") as plain:
            yield plain
            plain.flush()
            is_complete = True
    except BrokenPipeError:
        thread.join()
        raise writer.error or thread.error or BrokenPipeError from None
    finally:
        thread.join()
    if error := writer.error or thread.error:
        raise error


@contextlib.contextmanager
def decrypted(source: io.BufferedReader, passphrase: str | None) -> Iterator[IO[bytes]]:
    """The content of an encrypted backup. Reading raises UnusableBackup where it was changed or cut."""
    identity = read_identity(source, passphrase)
    reading, writing = os.pipe()
    reader, writer = NotedReader(source.read1), NotedWriter(lambda content: os.write(writing, content))
    thread = Beside(lambda: pyrage.decrypt_io(reader, writer, [identity]), writing)

    def read(size: int) -> bytes:
        if found := os.read(reading, size):
            return found
        thread.join()
        if thread.error is not None:
            raise reader.error or UnusableBackup(DAMAGED)
        return b""

    thread.start()
    try:
        yield NotedReader(read)  # type: ignore[misc]  # it reads, and nothing more is asked of it
    finally:
        os.close(reading)  # the thread ends with its next write
        thread.join()


def read_identity(source: io.BufferedReader, passphrase: str | None) -> Any:
    if passphrase is None:
        raise UnusableBackup(
            "This backup is encrypted: add --passphrase or --passphrase-file, or set"
            f" {PREFIX}BACKUP_PASSPHRASE."
        )
    line = source.readline(MAX_KEY_BYTES)
    if not line.endswith(b"\n"):
        raise UnusableBackup(DAMAGED)
    (text,) = decrypt_keys(line.removeprefix(BEGIN), passphrase, PURPOSE)
    return pyrage.x25519.Identity.from_str(text)


@contextlib.contextmanager
def opened_archive(source: io.BufferedReader, passphrase: str | None) -> Iterator[IO[bytes]]:
    """The archive of a backup, decrypted where that is encrypted."""
    if not is_encrypted(source):
        yield source
        return
    with decrypted(source, passphrase) as plain:
        yield plain
