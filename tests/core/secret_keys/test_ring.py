"""Secret keys of a process: made once, found while it runs, and kept when their files are lost."""

from __future__ import annotations

import base64
import os
import stat
from multiprocessing import Pool
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.core import encryption
from app.core.encryption import UnreadableSecret, decrypt, encrypt
from app.core.secret_keys import ring
from app.core.secret_keys.ring import (
    SecretKeys,
    UnreadableKey,
    create_key,
    fingerprint,
    read_key,
    replace_key,
    use_keys,
)
from tests.keys import secret_keys

OLD, NEW = "the key of before, long enough", "the key of now, also long enough"


@pytest.fixture(autouse=True)
def _known_keys() -> None:
    use_keys(SecretKeys(OLD))


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    with Pool(4) as pool:
        found = pool.map(create_key, [path] * 8)
    assert len(set(found)) == 1
    assert len(found[0]) >= 40
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret_key"]


def test_a_key_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, order = tmp_path / "secret_key", []
    fsync = os.fsync

    def note(fd: int) -> None:
        order.append((Path(f"/proc/self/fd/{fd}").readlink().name, path.exists()))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    create_key(path)
    (draft, was_there), directory = order
    assert draft.startswith(".secret_key~")
    assert not was_there
    assert directory == (tmp_path.name, True)


BAD_FILES = {"empty": b"", "blank": b" \n", "no text": b"\xff\xfe" * 30, "too long": b"a" * 100_000}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_without_a_key(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret_key").write_bytes(BAD_FILES[name])
    with pytest.raises(UnreadableKey, match="secret_key"):
        read_key(tmp_path / "secret_key")
    assert SecretKeys(directory=tmp_path).all() == ()


def test_a_running_process_finds_other_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_key(tmp_path / ring.FILE)
    keys = SecretKeys(directory=tmp_path)
    first = keys.current()
    replace_key(tmp_path / ring.OLD_FILE, first)
    assert keys.all() == (first,)
    replace_key(tmp_path / ring.FILE, NEW)
    moment = ring.time.monotonic() + ring.CHECK_SECONDS
    monkeypatch.setattr(ring.time, "monotonic", lambda: moment)
    assert keys.all() == (NEW, first)
    assert keys.signing() == [first, NEW]


def test_keys_whose_files_are_lost_stay_known(tmp_path: Path) -> None:
    create_key(tmp_path / ring.FILE)
    keys = SecretKeys(directory=tmp_path)
    first = keys.current()
    (tmp_path / ring.FILE).write_text("")
    keys.reload()
    assert keys.all() == (first,)
    (tmp_path / ring.FILE).unlink()
    keys.reload()
    assert keys.all() == (first,)


def test_a_fingerprint_tells_keys_apart_and_not_what_they_are() -> None:
    assert fingerprint(OLD) == fingerprint(OLD) != fingerprint(NEW)
    assert len(fingerprint(OLD)) == 16
    assert encryption.derive(OLD, encryption.PURPOSE).hex() not in fingerprint(OLD)


def test_what_is_encrypted_names_its_key() -> None:
    with secret_keys(OLD):
        before = encrypt({"a": 1})
    assert before.startswith(f"{fingerprint(OLD)}:")
    with secret_keys(NEW, OLD):
        assert decrypt(before) == {"a": 1}
        assert encrypt({}).startswith(f"{fingerprint(NEW)}:")


def test_what_fernet_has_encrypted_is_read() -> None:
    """Tokens with a fingerprint, and tokens without one from before there were several keys."""
    token = encryption.fernet(OLD).encrypt(b'{"a": 1}').decode()
    with secret_keys(NEW, OLD):
        assert decrypt(token) == {"a": 1}
        assert decrypt(f"{fingerprint(OLD)}:{token}") == {"a": 1}
    with secret_keys(NEW):
        assert decrypt(token) == decrypt(f"{fingerprint(NEW)}:{token}") == {}


def test_each_text_is_encrypted_with_aes_gcm_and_a_nonce_of_its_own() -> None:
    with secret_keys(OLD):
        mark, _, token = encrypt({"a": 1}).partition(":")
        assert encrypt({"a": 1}) != f"{mark}:{token}"
    content = base64.urlsafe_b64decode(token.removeprefix(encryption.VERSION))
    cipher = AESGCM(ring.derive(OLD, encryption.PURPOSE))
    assert cipher.decrypt(content[:12], content[12:], mark.encode()) == b'{"a": 1}'


def test_what_was_changed_is_not_read() -> None:
    with secret_keys(OLD):
        mark, _, token = encrypt({"a": 1}).partition(":")
        content = bytearray(base64.urlsafe_b64decode(token.removeprefix(encryption.VERSION)))
        for position in range(len(content)):
            content[position] ^= 1
            assert decrypt(f"{mark}:{encryption.VERSION}{base64.urlsafe_b64encode(content).decode()}") == {}
            content[position] ^= 1


UNREADABLE = {
    "of another key": lambda: encrypt({"a": 1}),
    "of another key, from before": lambda: encrypt({"a": 1}).partition(":")[2],
    "damaged": lambda: f"{fingerprint(NEW)}:gAAAAAB",
    "no ciphertext": lambda: "{}",
    "empty": lambda: "",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cant_be_read_is_empty_and_is_never_written(name: str) -> None:
    with secret_keys(OLD):
        stored = UNREADABLE[name]()
    with secret_keys(NEW):
        found = decrypt(stored)
        assert isinstance(found, UnreadableSecret)
        assert found == {}
        with pytest.raises(TypeError, match="written over"):
            encrypt(found)


def test_without_any_key_nothing_is_read() -> None:
    with secret_keys(OLD):
        stored = encrypt({"a": 1})
    with secret_keys():
        assert decrypt(stored) == {}
        with pytest.raises(RuntimeError, match="no secret key"):
            encrypt({})
