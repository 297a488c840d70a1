"""Encryption of whole backups: they come back as they were, or not at all."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator

import pyrage
import pytest

from app.operations.backups import encryption
from app.operations.backups.encryption import (
    BEGIN,
    PURPOSE,
    SECRET_KEYS,
    UnusableBackup,
    decrypt,
    decrypt_keys,
    encrypt,
    encrypt_keys,
)

WORDS = "four slow trains at dawn"
CONTENT = os.urandom(300_000)


def write(content: bytes, out: io.BytesIO) -> bytes:
    encrypt(io.BytesIO(content).read, out.write, WORDS)
    return out.getvalue()


REAL_COST = encryption.Cost


@pytest.fixture(scope="module", autouse=True)
def cheap() -> Iterator[None]:
    """Passphrases are hashed in microseconds; tests/cli has the real cost."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(encryption, "Cost", lambda *cost: REAL_COST(*(cost or (64, 1, 1))))
        yield


@pytest.fixture(scope="module")
def file() -> bytes:
    return write(CONTENT, io.BytesIO())


def read(file: bytes, words: str | None = WORDS) -> bytes:
    out = io.BytesIO()
    decrypt(io.BufferedReader(io.BytesIO(file)), out.write, words)
    return out.getvalue()


def test_it_comes_back_and_is_a_file_of_age(file: bytes) -> None:
    assert read(file) == CONTENT
    line, _, rest = file.partition(b"\n")
    (key,) = decrypt_keys(line.removeprefix(BEGIN), WORDS, PURPOSE)
    assert pyrage.decrypt(rest, [pyrage.x25519.Identity.from_str(key)]) == CONTENT
    with pytest.raises(UnusableBackup):  # nobody can pass it off as the secret key in a backup
        decrypt_keys(line.removeprefix(BEGIN), WORDS, SECRET_KEYS)


def test_a_wrong_passphrase_or_none_says_so(file: bytes) -> None:
    with pytest.raises(UnusableBackup, match="passphrase is wrong"):
        read(file, "four fast trains at dawn")
    with pytest.raises(UnusableBackup, match="is encrypted: add"):
        read(file, None)


def changed(file: bytes, place: int) -> bytes:
    found = bytearray(file)
    found[place] = ord("A") if found[place] != ord("A") else ord("B")
    return bytes(found)


def of_another_key(file: bytes) -> bytes:
    """Nobody without the passphrase can make one that is accepted."""
    other = pyrage.encrypt(CONTENT, [pyrage.x25519.Identity.generate().to_public()])
    return file.partition(b"\n")[0] + b"\n" + other


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "the last byte is missing": lambda file: file[:-1],
    "the last piece is missing": lambda file: file[:-70_000],
    "nearly all is missing": lambda file: file[:-299_000],
    "a byte of the end": lambda file: changed(file, -100),
    "a byte of the middle": lambda file: changed(file, -150_000),
    "a byte of the key": lambda file: changed(file, 200),
    "a key without an end": lambda _file: BEGIN + b"A" * 10_000,
    "of another key": of_another_key,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_no_backup(damage: Callable[[bytes], bytes], file: bytes) -> None:
    with pytest.raises(UnusableBackup):
        read(damage(file))


class FullDisk(io.BytesIO):
    """Takes writes until `room` is used."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def write(self, content) -> int:  # type: ignore[override,no-untyped-def]
        if self.tell() + len(content) > self.room:
            raise OSError(28, "No space left on device")
        return super().write(content)


@pytest.mark.parametrize("room", [0, 1000, 200_000, 300_500])
def test_a_full_disk_is_told(room: int, file: bytes) -> None:
    """Also where only the last bytes do not fit, which the library itself does not tell."""
    with pytest.raises(OSError, match="No space"):
        write(CONTENT, FullDisk(room))
    with pytest.raises(OSError, match="No space"):
        decrypt(io.BufferedReader(io.BytesIO(file)), FullDisk(min(room, 299_999)).write, WORDS)


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

    with pytest.raises(ConnectionResetError):
        decrypt(io.BufferedReader(Broken()), io.BytesIO().write, WORDS)


def spoil(content: bytes, **changes: object) -> bytes:
    return json.dumps(json.loads(content) | changes).encode()


SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "no JSON": lambda _content: b"x",
    "a list": lambda _content: b"[]",
    "too much memory": lambda content: spoil(content, memory_kib=2**31),
    "too much time": lambda content: spoil(content, time=10**6),
    "no lanes": lambda content: spoil(content, parallelism=0),
    "no base64": lambda content: spoil(content, salt="%"),
    "a short nonce": lambda content: spoil(content, nonce="AAAA"),
    "another ciphertext": lambda content: spoil(content, ciphertext="A" * 64),
    "an empty one": lambda content: spoil(content, ciphertext=""),
}


def test_an_encrypted_key_that_was_changed() -> None:
    content = encrypt_keys(["one", "two"], WORDS)
    assert decrypt_keys(content, WORDS, PURPOSE) == ["one", "two"]
    assert encrypt_keys(["one", "two"], WORDS) != content
    for name, change in SPOILED.items():
        with pytest.raises(UnusableBackup):
            pytest.fail(f"{name}: {decrypt_keys(change(content), WORDS, PURPOSE)}")
