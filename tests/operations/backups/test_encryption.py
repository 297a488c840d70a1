"""Encryption of whole backups: streams that come back as they were, or not at all."""

from __future__ import annotations

import io
import os

import pyrage
import pytest

from app.operations.backups.encryption import BEGIN, PURPOSE, decrypted, encrypted, opened_archive
from app.operations.backups.key_encryption import decrypt_keys
from app.operations.backups.manifest import UnusableBackup

WORDS = "four slow trains at dawn"
CONTENT = os.urandom(300_000)


@pytest.fixture(scope="module")
def file() -> bytes:
    out = io.BytesIO()
    with encrypted(out, WORDS) as stream:
        stream.write(CONTENT[:1000])
        stream.write(CONTENT[1000:])
    return out.getvalue()


def read(file: bytes, words: str | None = WORDS) -> bytes:
    with decrypted(io.BufferedReader(io.BytesIO(file)), words) as stream:
        return b"".join(iter(lambda: stream.read(10_000), b""))


def test_it_comes_back(file: bytes) -> None:
    assert read(file) == CONTENT
    assert CONTENT[:50] not in file


def test_the_archive_is_a_file_of_age(file: bytes) -> None:
    line, _, rest = file.partition(b"\n")
    (key,) = decrypt_keys(line.removeprefix(BEGIN), WORDS, PURPOSE)
    assert pyrage.decrypt(rest, [pyrage.x25519.Identity.from_str(key)]) == CONTENT


def test_the_key_is_of_no_other_use(file: bytes) -> None:
    """Nobody can pass it off as the secret key in a backup."""
    with pytest.raises(UnusableBackup):
        decrypt_keys(file.partition(b"\n")[0].removeprefix(BEGIN), WORDS)


def test_a_plain_archive_is_passed_on() -> None:
    with opened_archive(io.BufferedReader(io.BytesIO(b"plain")), None) as stream:
        assert stream.read() == b"plain"


def test_a_wrong_passphrase_or_none_says_so(file: bytes) -> None:
    with pytest.raises(UnusableBackup, match="passphrase is wrong"):
        read(file, "four fast trains at dawn")
    with pytest.raises(UnusableBackup, match="is encrypted: add"):
        read(file, None)


@pytest.mark.parametrize("cut", [1, 17, 70_000, 299_000])
def test_what_is_cut_off_is_no_backup(file: bytes, cut: int) -> None:
    with pytest.raises(UnusableBackup, match="damaged or not whole"):
        read(file[:-cut])


DAMAGE = {"a byte of the end": -100, "a byte of the middle": -150_000, "a byte of the key": 200}


@pytest.mark.parametrize("place", DAMAGE.values(), ids=DAMAGE)
def test_a_changed_byte_is_noticed(file: bytes, place: int) -> None:
    changed = bytearray(file)
    changed[place] = ord("A") if changed[place] != ord("A") else ord("B")
    with pytest.raises(UnusableBackup):
        read(bytes(changed))


def test_a_key_without_an_end_is_no_backup() -> None:
    with pytest.raises(UnusableBackup, match="damaged"):
        read(BEGIN + b"A" * 10_000)


def test_the_archive_of_another_key_is_no_backup(file: bytes) -> None:
    """Nobody without the passphrase can make one that is accepted."""
    other = pyrage.encrypt(CONTENT, [pyrage.x25519.Identity.generate().to_public()])
    with pytest.raises(UnusableBackup):
        read(file.partition(b"\n")[0] + b"\n" + other)


class FullDisk(io.BytesIO):
    """Takes writes until `room` is used."""

    room = 0

    def write(self, content) -> int:  # type: ignore[override,no-untyped-def]
        if self.tell() + len(content) > self.room:
            raise OSError(28, "No space left on device")
        return super().write(content)


@pytest.mark.parametrize("room", [0, 1000, 200_000, 300_500])
def test_a_full_disk_is_told(room: int) -> None:
    """Also where only the last bytes do not fit, which the library itself does not tell."""
    out = FullDisk()
    out.room = room
    with pytest.raises(OSError, match="No space"), encrypted(out, WORDS) as stream:
        stream.write(CONTENT)


def test_an_error_while_it_is_written_leaves_no_whole_file() -> None:
    out = io.BytesIO()
    with pytest.raises(ZeroDivisionError), encrypted(out, WORDS) as stream:  # noqa: PT012  what it is about
        stream.write(CONTENT)
        raise ZeroDivisionError
    with pytest.raises(UnusableBackup):
        read(out.getvalue())


def test_an_error_of_the_source_is_told_as_it_was(file: bytes) -> None:
    class Broken(io.RawIOBase):
        left = file[:100_000]

        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:  # type: ignore[override,no-untyped-def]
            if not self.left:
                raise ConnectionResetError("gone")
            size = min(len(buffer), len(self.left))
            buffer[:size], self.left = self.left[:size], self.left[size:]
            return size

    with pytest.raises(ConnectionResetError), decrypted(io.BufferedReader(Broken()), WORDS) as stream:
        list(iter(lambda: stream.read(10_000), b""))
