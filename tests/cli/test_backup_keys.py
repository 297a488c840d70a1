"""Backups and the secret key: a backup holds it only encrypted, and a restore says which key it needs."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace

import pytest
from click.testing import Result

from app.cli import secrets
from app.core.encryption import encrypt_text
from app.core.secret_keys.ring import fingerprint
from app.operations.backups import archive
from app.operations.backups.encryption import SECRET_KEYS, decrypt, encrypt_keys
from tests.cli.test_backup import contents, written
from tests.commands import run_command, run_in_own_application
from tests.factories import PASSWORD

PASSPHRASE = "four slow trains at dawn"
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def migrate_in_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore migrates in a process of its own; `test_backup.py` has it as it is."""

    def run(command: list[str], cwd: Path, env: dict[str, str], **_: object) -> CompletedProcess[str]:
        done = run_command(tuple(command[command.index("db") :]), cwd, env)
        return CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())

    monkeypatch.setattr("app.operations.database.subprocess", SimpleNamespace(run=run))


@pytest.fixture
def make_instance(tmp_path: Path, sqlite_template: Path) -> Callable[[str], Run]:
    """Runs commands on a data directory of this name, as a new process would."""

    def make(name: str, *, is_migrated: bool = False) -> Run:
        if is_migrated:
            shutil.copytree(sqlite_template, tmp_path / name)
            (tmp_path / name / "secret_key").unlink(missing_ok=True)
        return partial(run_in_own_application, tmp_path / name)

    return make


@pytest.fixture
def old(make_instance: Callable[..., Run], tmp_path: Path) -> Run:
    """An instance with an account and a handler, whose settings are encrypted."""
    run = make_instance("old", is_migrated=True)
    made = run("users", "create", "--email", "a@example.com", "--password-stdin", stdin=PASSWORD)
    assert made.exit_code == 0, made.output
    with sqlite3.connect(tmp_path / "old" / "main.db") as connection:
        connection.execute(
            "INSERT INTO notification_handler"
            " (workspace_id, user_id, type, name, settings, is_enabled, is_confirmed, datetime)"
            " VALUES (1, 1, 'email', 'x', ?, 1, 1, '2026-01-01')",
            [encrypt_text(b'{"email": "a@example.com"}', key_of(tmp_path / "old"))],
        )
    connection.close()
    return run


@pytest.fixture
def new(make_instance: Callable[..., Run]) -> Run:
    return make_instance("new")


@pytest.fixture
def passphrase(tmp_path: Path) -> tuple[str, Path]:
    (tmp_path / "passphrase").write_text(f"{PASSPHRASE}\n")
    return "--passphrase-file", tmp_path / "passphrase"


def key_of(data_dir: Path) -> str:
    return (data_dir / "secret_key").read_text()


def reads_all(run: Run, **settings: str) -> bool:
    """Whether the instance starts, and decrypts what is stored."""
    assert run("users", "list", **settings).exit_code == 0
    return "decrypts what is stored" in run("doctor", **settings).output


def test_without_a_passphrase_the_key_is_not_in_it(old: Run, new: Run, tmp_path: Path) -> None:
    key, path = key_of(tmp_path / "old"), tmp_path / "b.tar.gz"
    said = old("backup", path).output
    assert f"The secret key it needs ({fingerprint(key)}) is not in it: keep {tmp_path / 'old'}" in said
    found = contents(path)
    assert not [name for name, content in found.items() if key.encode() in content or "secret" in name]
    assert json.loads(found["manifest.json"])["keys"] == [fingerprint(key)]

    refused = new("restore", path)
    assert refused.exit_code == 1
    assert f"needs the secret key {fingerprint(key)}, which is not here" in refused.stderr
    assert "The backup does not hold it: add --key-file" in refused.stderr
    (tmp_path / "other").write_text("a key of another instance")
    assert "which is not here" in new("restore", path, "--key-file", tmp_path / "other").stderr
    (tmp_path / "other").write_text("")
    assert "other is empty" in new("restore", path, "--key-file", tmp_path / "other").stderr
    assert not list((tmp_path / "new").glob("*.db"))
    done = new("restore", path, "--key-file", tmp_path / "old" / "secret_key")
    assert done.exit_code == 0, done.output
    assert key_of(tmp_path / "new") == key
    assert (tmp_path / "new" / "secret_key").stat().st_mode & 0o777 == 0o600
    assert reads_all(new)


def test_with_a_passphrase(old: Run, new: Run, tmp_path: Path, passphrase: tuple[str, Path]) -> None:
    """All of it is encrypted, and the key is in it."""
    path = tmp_path / "b.tar.gz"
    assert "keep the passphrase" in old("backup", path, *passphrase).output
    assert path.read_bytes().startswith(b"Waypost backup, encrypted")
    plain = io.BytesIO()
    with path.open("rb") as source:
        decrypt(source, plain.write, PASSPHRASE)
    plain.seek(0)
    with tarfile.open(fileobj=plain) as tar:
        assert tar.extractfile("secret_key").read().decode() == key_of(tmp_path / "old")  # type: ignore[union-attr]

    assert "add --passphrase or --passphrase-file" in new("restore", path).stderr
    wrong = new("restore", path, "--passphrase", stdin="another passphrase\n")
    assert (wrong.exit_code, "The passphrase is wrong" in wrong.stderr) == (1, True)
    assert not list((tmp_path / "new").glob("*.db"))
    done = new("restore", path, "--passphrase", stdin=f"{PASSPHRASE}\n")
    assert done.exit_code == 0, done.output
    assert reads_all(new)
    assert key_of(tmp_path / "new") == key_of(tmp_path / "old")


def test_without_the_key_all_else_comes_back(old: Run, new: Run, tmp_path: Path) -> None:
    path, key = tmp_path / "b.tar.gz", key_of(tmp_path / "old")
    old("backup", path)
    done = new("restore", path, "--without-secret")
    assert done.exit_code == 0, done.output
    assert f"Restored without the secret key {fingerprint(key)}" in done.stderr
    assert "The secret key is missing" in new("users", "list").output
    assert new("secrets", "adopt", "--yes").exit_code == 0
    assert "a@example.com" in new("users", "list").output
    assert "1 handler can't be read" in new("doctor").output


def test_a_key_of_the_settings(old: Run, new: Run, tmp_path: Path, passphrase: tuple[str, Path]) -> None:
    path, key = tmp_path / "b.tar.gz", key_of(tmp_path / "old")
    old("backup", path, *passphrase)
    other = "a key that some other instance has"
    refused = new("restore", path, *passphrase, SECRET_KEY=other)
    assert refused.exit_code == 1
    assert f"WAYPOST_SECRET_KEY holds the key {fingerprint(other)}" in refused.stderr
    assert "set it to that one" in refused.stderr
    done = new("restore", path, *passphrase, SECRET_KEY=key)
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "new" / "secret_key").exists()
    assert reads_all(new, SECRET_KEY=key)


@pytest.mark.parametrize("kind", [1, 2])
def test_a_backup_of_an_earlier_format(
    kind: int,
    old: Run,
    new: Run,
    tmp_path: Path,
    passphrase: tuple[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first held the key in plain text, the second one could hold it encrypted by itself."""
    key = key_of(tmp_path / "old").encode()
    old("backup", tmp_path / "b.tar.gz")
    found = contents(tmp_path / "b.tar.gz")
    about = json.loads(found.pop("manifest.json")) | {"format": kind, "counts": {"main.db link": 0}}
    name, content = "secret_key", key
    if kind == 1:
        del about["keys"]
    else:
        monkeypatch.setattr("app.operations.backups.encryption.PURPOSE", SECRET_KEYS)
        name, content = archive.ENCRYPTED_KEYS, encrypt_keys([key.decode()], PASSPHRASE)
    about["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    members = {"manifest.json": json.dumps(about).encode(), **found, name: content}
    done = new("restore", written(tmp_path / "before.tar.gz", members), *(passphrase if kind == 2 else ()))
    assert done.exit_code == 0, done.output
    assert key_of(tmp_path / "new").encode() == key
    assert reads_all(new)


def test_a_backup_of_before_a_rotation(old: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The retired key is found where the rotation left it. The old instance is moved aside with its key."""
    monkeypatch.setattr(secrets, "LEARNING_SECONDS", 0.0)
    path, first = tmp_path / "b.tar.gz", key_of(tmp_path / "old")
    old("backup", path)
    assert old("secrets", "rotate").exit_code == 0
    second = key_of(tmp_path / "old")
    done = old("restore", "--force", path)
    assert done.exit_code == 0, done.output
    assert key_of(tmp_path / "old") == first
    assert key_of(next((tmp_path / "old").glob("before-restore-*"))) == second
    assert reads_all(old)


@pytest.mark.full
def test_a_backup_in_the_middle_of_a_rotation(
    old: Run, new: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passphrase: tuple[str, Path]
) -> None:
    """The backup needs both keys and holds both. The restored instance continues the rotation."""
    monkeypatch.setattr(secrets, "LEARNING_SECONDS", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(secrets, "reencrypt_all", lambda *_: (_ for _ in ()).throw(RuntimeError("killed")))
        assert old("secrets", "rotate").exit_code == 1
    path = tmp_path / "b.tar.gz"
    current, former = (tmp_path / "old" / name for name in ("secret_key", "secret_key.old"))
    named = f"({fingerprint(current.read_text())} and {fingerprint(former.read_text())})"
    assert named in old("backup", path, *passphrase).output
    assert new("restore", path, *passphrase).exit_code == 0
    assert reads_all(new)
    assert "A rotation of the secret key is not finished" in new("doctor").output
    assert new("secrets", "rotate").exit_code == 0
    assert reads_all(new)


def test_a_key_that_is_not_here_cant_be_held(old: Run, tmp_path: Path, passphrase: tuple[str, Path]) -> None:
    """Without a passphrase the backup is made all the same, and names the key that the database needs."""
    key = key_of(tmp_path / "old")
    (tmp_path / "old" / "secret_key").write_text("a key of another instance")
    refused = old("backup", tmp_path / "b.tar.gz", *passphrase)
    assert (refused.exit_code, "is not here, so the backup can't hold it" in refused.stderr) == (1, True)
    assert not (tmp_path / "b.tar.gz").exists()
    assert f"({fingerprint(key)}) is not in it" in old("backup", tmp_path / "b.tar.gz").output


WRONG_OPTIONS = {
    "a short passphrase": (("--passphrase",), "too short\ntoo short\n", "at least 12 characters"),
    "both": (("--passphrase", "--passphrase-file", __file__), "", "Either --passphrase or"),
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_options_that_are_refused(name: str, old: Run, tmp_path: Path) -> None:
    options, stdin, said = WRONG_OPTIONS[name]
    done = old("backup", tmp_path / "b.tar.gz", *options, stdin=stdin)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "b.tar.gz").exists()
