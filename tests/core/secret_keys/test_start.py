"""The secret key at start: made where nothing needs one, and refused where it is the wrong one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from app.cli import secrets
from app.core import durable_files
from app.core.database import AnySession
from app.core.encryption import encrypt_text
from app.core.folders import ROOT
from app.core.secret_keys.check import adopt_first_key
from app.core.secret_keys.ring import fingerprint
from tests import postgres
from tests.commands import run_command, run_in_own_application
from tests.factories import PASSWORD

Run = Callable[..., Result]
OTHER_KEY = "another-key-of-some-other-instance-0123456789"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def flask(data_dir: Path, sqlite_template: Path) -> Run:
    """Runs a command on a migrated database."""
    shutil.copytree(sqlite_template, data_dir)
    (data_dir / "secret_key").unlink(missing_ok=True)
    return partial(run_in_own_application, data_dir)


@pytest.fixture
def instance(flask: Run) -> Run:
    """An instance with an account, and so with a key that its database needs."""
    made = flask("users", "create", "--email", "a@example.com", "--password-stdin", stdin=PASSWORD)
    assert made.exit_code == 0, made.output
    return flask


WITHOUT_A_KEY = {
    "help of serve": ("serve", "--help"),
    "doctor": ("doctor",),
    "the API's description": ("openapi",),
    "routes": ("routes",),
    "fingerprints": ("secrets", "show"),
}


@pytest.mark.parametrize("name", WITHOUT_A_KEY)
def test_no_key_is_made_by(name: str, flask: Run, data_dir: Path) -> None:
    flask(*WITHOUT_A_KEY[name])
    assert not (data_dir / "secret_key").exists()


def test_no_key_is_made_by_help(tmp_path: Path) -> None:
    """Runs in a process, as an operator starts it."""
    done = run_command(("--help",), ROOT, {**os.environ, "WAYPOST_DATA_DIR": str(tmp_path)})
    assert done.returncode == 0
    assert not list(tmp_path.glob("*secret_key*"))


def test_a_key_is_made_for_the_first_account(instance: Run, data_dir: Path) -> None:
    key = (data_dir / "secret_key").read_text()
    assert f"The database needs: {fingerprint(key)}" in instance("secrets", "show").output


def lose(data_dir: Path) -> None:
    (data_dir / "secret_key").unlink()


def empty(data_dir: Path) -> None:
    (data_dir / "secret_key").write_text("")


def replace(data_dir: Path) -> None:
    (data_dir / "secret_key").write_text(OTHER_KEY)


def damage(data_dir: Path) -> None:
    (data_dir / "secret_key").write_bytes(b"\xff\x00" * 24)


FAULTS = {
    "lost": (lose, "The secret key is missing: this database was encrypted with the key {needed}"),
    "empty": (empty, "secret_key is empty."),
    "damaged": (damage, "secret_key is damaged: it holds no text."),
    "another one": (
        replace,
        f"holds the key {fingerprint(OTHER_KEY)}. Put the right key back",
    ),
}


COMMANDS = (("serve",), ("worker",), ("users", "list"), ("keys", "list"))


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_starts_until_one_goes_on_without_it(name: str, instance: Run, data_dir: Path) -> None:
    needed = fingerprint((data_dir / "secret_key").read_text())
    fault, said = FAULTS[name]
    fault(data_dir)
    before = sorted(path.name for path in data_dir.glob("secret_key*"))
    for command in COMMANDS:
        done = instance(*command, PORT="1")
        assert done.exit_code == 1
        assert said.format(needed=needed) in done.output
        assert "secrets adopt" in done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)
    assert sorted(path.name for path in data_dir.glob("secret_key*")) == before
    found = instance("doctor")
    lines = [line for line in found.output.splitlines() if "secret:" in line]
    assert found.exit_code == 1
    assert any("PROBLEM" in line and "key" in line for line in lines), found.output
    assert "secrets adopt" in found.output
    assert instance("secrets", "adopt", stdin="n\n").exit_code == 1
    assert instance("users", "list").exit_code == 1
    assert instance("secrets", "adopt", "--yes").exit_code == 0
    listed = instance("users", "list")
    assert (listed.exit_code, "a@example.com" in listed.output) == (0, True), listed.output
    with closing(sqlite3.connect(data_dir / "main.db")) as database:
        told = database.execute("SELECT action FROM audit_entry WHERE action LIKE 'secret_key.%'").fetchall()
    assert told == [("secret_key.adopted",)]


@pytest.fixture
def machines(tmp_path: Path, postgres_template: str) -> Iterator[Callable[..., Result]]:
    """`machines("b", "users", "list")`: a command on machine `b` of one PostgreSQL."""
    name = f"machines_{uuid.uuid4().hex}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")

        yield lambda machine, *arguments, **more: run_in_own_application(
            tmp_path / machine, *arguments, DATABASE_URL=postgres.address(name), **more
        )
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_second_machine_needs_the_key_of_the_first(
    machines: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "LEARNING_SECONDS", 0.0)
    made = machines("a", "users", "create", "--email", "a@example.com", "--password-stdin", stdin=PASSWORD)
    assert made.exit_code == 0, made.output
    refused = machines("b", "users", "list")
    assert refused.exit_code == 1
    assert f"copy secret_key from its data directory to {tmp_path / 'b'}" in refused.output
    assert not (tmp_path / "b" / "secret_key").exists(), "it makes no key of its own"
    assert "copy secret_key" in machines("b", "doctor").output
    shutil.copy(tmp_path / "a" / "secret_key", tmp_path / "b" / "secret_key")
    assert "a@example.com" in machines("b", "users", "list").output
    rotated = machines("a", "secrets", "rotate")
    assert f"copy {tmp_path / 'a' / 'secret_key'} to each of them" in rotated.output
    assert "was replaced on" in machines("b", "users", "list").output
    shutil.copy(tmp_path / "a" / "secret_key", tmp_path / "b" / "secret_key")
    assert "a@example.com" in machines("b", "users", "list").output


def test_a_machine_that_loses_the_first_start_keeps_no_key(
    machines: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen that the database needs none, and made one."""

    def be_late(session: AnySession, _key: str) -> None:
        adopt_first_key(session, OTHER_KEY)

    monkeypatch.setattr("app.operations.secret_key.adopt_first_key", be_late)
    refused = machines("b", "users", "list")
    assert refused.exit_code == 1
    assert fingerprint(OTHER_KEY) in refused.output
    assert not (tmp_path / "b" / "secret_key").exists()


def test_the_right_key_put_back_is_right(instance: Run, data_dir: Path) -> None:
    key = (data_dir / "secret_key").read_text()
    lose(data_dir)
    assert instance("users", "list").exit_code == 1
    (data_dir / "secret_key").write_text(key)
    assert instance("users", "list").exit_code == 0


def test_a_key_of_the_settings_is_looked_at_too(flask: Run, data_dir: Path) -> None:
    made = flask(
        "users",
        "create",
        "--email",
        "a@example.com",
        "--password-stdin",
        stdin=PASSWORD,
        SECRET_KEY=OTHER_KEY,
    )
    assert made.exit_code == 0, made.output
    assert not (data_dir / "secret_key").exists()
    done = flask("users", "list")
    assert "The secret key is missing" in done.output
    assert not (data_dir / "secret_key").exists()
    done = flask("users", "list", SECRET_KEY="a-third-key-of-nobody-in-particular")
    assert "WAYPOST_SECRET_KEY holds the key" in done.output
    assert flask("users", "list", SECRET_KEY=OTHER_KEY).exit_code == 0


def test_a_database_of_before_names_the_key_that_reads_it(instance: Run, data_dir: Path) -> None:
    """An upgrade with another key is refused as well, though the database does not name its key."""
    key = (data_dir / "secret_key").read_text()
    with sqlite3.connect(data_dir / "main.db") as connection:
        connection.execute("DELETE FROM key_record")
        token = encrypt_text(b'{"email": "a@example.com"}', key).partition(":")[2]
        connection.execute(
            "INSERT INTO notification_handler"
            " (workspace_id, user_id, type, name, settings, is_enabled, datetime) VALUES (1, 1, 'email', 'x', ?, 1, '2026-01-01')",
            [token],
        )
    replace(data_dir)
    done = instance("users", "list")
    assert done.exit_code == 1
    assert "it was encrypted with another key" in done.output
    lose(data_dir)
    assert "this database was encrypted with another key" in instance("users", "list").output
    (data_dir / "secret_key").write_text(key)
    assert instance("users", "list").exit_code == 0
    assert fingerprint(key) in instance("secrets", "show").output


def test_a_rotation_that_is_killed_at_any_step_goes_on(
    instance: Run, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step makes, renames or removes a file. The rotation is killed before each of them in turn."""
    from app.cli import secrets

    monkeypatch.setattr(secrets, "LEARNING_SECONDS", 0.0)
    first = (data_dir / "secret_key").read_text()
    real, left = durable_files.sync_directory, [0]

    def die_in_the_end(directory: Path) -> None:
        real(directory)
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    steps = 0
    while True:
        with monkeypatch.context() as patched:
            left[0] = steps
            patched.setattr(durable_files, "sync_directory", die_in_the_end)
            is_done = instance("secrets", "rotate").exit_code == 0
        assert instance("users", "list").exit_code == 0, f"after {steps} steps"
        if is_done:
            break
        steps += 1
    assert steps > 3
    assert [path.name for path in data_dir.glob("*secret_key*")] == ["secret_key"]
    current = (data_dir / "secret_key").read_text()
    assert current != first
    assert (data_dir / "retired_keys" / fingerprint(first)).read_text() == first
    assert "The database needs: " + fingerprint(current) in instance("secrets", "show").output
