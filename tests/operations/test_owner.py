"""Commands run by root: they run as the owner of the instance, and leave no files of root behind."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import flask_migrate
import pytest
from flask import Flask

from app.core.extensions import db, migrate
from app.operations import owner
from app.operations.owner import describe_owner, run_as_owner

NOBODY = pwd.getpwnam("nobody")
TABLE = "keyword,url\nfoo,https://example.com/\n"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch to another user")


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory that other users can reach, too: pytest's own folders are for one user alone."""
    directory = Path(tempfile.mkdtemp())
    yield directory
    shutil.rmtree(directory)


def give_away(directory: Path) -> None:
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)


def in_child(run: Callable[[], Any]) -> Any:
    """The result of a function in a process of its own, which may become another user."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(run()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = file.read()
    os.waitpid(child, 0)
    return json.loads(said)


def run_apart(app: Flask, *arguments: object, stdin: str = "") -> tuple[int, str, int]:
    """Exit code, output and, afterwards, the user of a command in a process of its own."""

    def run() -> tuple[int, str, int]:
        done = app.test_cli_runner().invoke(args=[str(each) for each in arguments], input=stdin)
        return done.exit_code, done.output, os.getuid()

    return tuple(in_child(run))


def owners(directory: Path) -> dict[str, int]:
    return {path.relative_to(directory).as_posix(): path.stat().st_uid for path in directory.rglob("*")}


@pytest.fixture
def given(app: Flask, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory of an instance that belongs to `nobody`.

    The check of the files that this user must be able to read is left out: a developer's Python may be in
    root's home. For the same reason commands have run before, so that children find modules in memory.
    """
    monkeypatch.setattr(owner, "program_files", list)
    return data_dir


@as_root
def test_root_leaves_no_files_of_its_own(app: Flask, given: Path, tmp_path: Path) -> None:
    run = app.test_cli_runner().invoke
    password = "correct horse battery staple"
    table = tmp_path / "links.csv"
    table.write_text(TABLE)
    run(args=["users", "create", "--email", "a@example.com", "--password-stdin"], input=password)
    for arguments in (["import", str(table), "--email", "a@example.com"], ["backup"]):
        done = run(args=arguments)
        assert done.exit_code == 0, done.output
    with app.app_context():
        db.engine.dispose()
    give_away(given)
    for path in [*given.rglob("*.lock"), *(given / "backups").iterdir()]:
        path.unlink()
    shutil.rmtree(given / "imports")

    table.write_text(TABLE.replace("foo", "bar"))
    table.chmod(0o600)  # only root can read it, in a folder that only root can enter
    create = ("users", "create", "--email", "b@example.com", "--password-stdin")
    code, said, user = run_apart(app, *create, stdin=password)
    assert (code, user) == (0, NOBODY.pw_uid), said
    code, said, user = run_apart(app, "import", table, "--email", "a@example.com")
    assert (code, user, "1 links made" in said) == (0, NOBODY.pw_uid, True), said
    code, said, user = run_apart(app, "backup")
    assert (code, user) == (0, NOBODY.pw_uid), said
    code, said, user = run_apart(app, "doctor")
    assert user == NOBODY.pw_uid, said
    left = owners(given)
    assert {"imports", "backups", "backup.lock"} <= set(left)
    assert set(left.values()) == {NOBODY.pw_uid}, left

    code, said, _ = run_apart(app, "backup", tmp_path)
    assert code == 1
    assert "Permission denied" in said
    assert "Name a path that nobody may use" in said


@as_root
def test_migrations_switch_too(app: Flask, given: Path) -> None:
    """`flask db upgrade` is a command of Flask-Migrate, not of the application."""
    give_away(given)

    def upgrade() -> int:
        with app.app_context():
            flask_migrate.upgrade(directory=migrate.directory)
        return os.getuid()

    assert in_child(upgrade) == NOBODY.pw_uid
    assert set(owners(given).values()) == {NOBODY.pw_uid}


@as_root
def test_what_root_left_before_is_named(app: Flask, given: Path) -> None:
    give_away(given)
    lock = given / "backup.lock"
    lock.touch(mode=0o600)
    code, said, _ = run_apart(app, "backup")
    assert (code, str(lock) in said, f"chown -R nobody {given}" in said) == (1, True, True), said


GROUPS = sorted(os.getgrouplist("nobody", NOBODY.pw_gid))
OWNERS = {
    "with a name": (NOBODY.pw_uid, NOBODY.pw_gid, GROUPS, NOBODY.pw_dir),
    "without a name": (54321, 54322, [54322], "/"),
}


@as_root
@pytest.mark.parametrize(("uid", "gid", "groups", "home"), OWNERS.values(), ids=OWNERS)
def test_the_switch_is_for_good(
    uid: int, gid: int, groups: list[int], home: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "program_files", list)
    os.chown(data_dir, uid, gid)

    def switched() -> list[object]:
        run_as_owner(data_dir)
        return [*os.getresuid(), *os.getresgid(), sorted(os.getgroups()), os.environ["HOME"]]

    assert in_child(switched) == [uid] * 3 + [gid] * 3 + [groups, home]


@as_root
def test_the_databases_owner_counts_before_the_directorys(data_dir: Path) -> None:
    (data_dir / "main.db").touch()
    os.chown(data_dir, NOBODY.pw_uid, NOBODY.pw_gid)
    assert run_as_owner(data_dir) is None


@as_root
def test_an_owner_who_cannot_read_the_program(data_dir: Path, tmp_path: Path, monkeypatch) -> None:
    secret = tmp_path / "settings"
    secret.touch(mode=0o600)
    monkeypatch.setattr(owner, "program_files", lambda: [secret])
    before = os.getresuid(), os.getresgid(), os.getgroups()
    give_away(data_dir)
    assert run_as_owner(data_dir) is None  # there is no instance yet
    (data_dir / "main.db").touch()
    give_away(data_dir)
    with pytest.raises(click.ClickException, match=f"nobody, who can't read {secret}"):
        run_as_owner(data_dir)
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == before


@as_root
def test_root_without_the_right_to_switch(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_groups: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    give_away(data_dir)
    monkeypatch.setattr(os, "setgroups", refuse)
    with pytest.raises(click.ClickException, match=r"root can't become that user here.*sudo -u nobody"):
        run_as_owner(data_dir)


def test_another_user_is_refused(app: Flask, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written where the directory is another user's. `doctor` runs all the same."""
    name = describe_owner(os.getuid(), os.getgid()).name
    before = owners(data_dir)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    monkeypatch.setattr(os, "access", lambda _path, mode, **_more: not mode & os.W_OK)
    done = app.test_cli_runner().invoke(args=["backup"])
    assert done.exit_code == 1
    assert f"belongs to {name} and can't be written by this user" in done.output
    assert f"sudo -u {name}" in done.output
    assert owners(data_dir) == before
    assert "can't be written to" in app.test_cli_runner().invoke(args=["doctor"]).output
    monkeypatch.setattr(os, "access", lambda *_args, **_more: True)  # a group's directory
    assert run_as_owner(data_dir) is None


@as_root
@pytest.mark.parametrize("arguments", [("doctor",), ("users", "list"), ("backup",)], ids=" ".join)
def test_a_directory_that_is_closed_to_a_user(app: Flask, data_dir: Path, arguments: tuple[str, ...]) -> None:
    data_dir.chmod(0o700)

    def run() -> list[object]:
        os.setgroups([])
        os.setgid(NOBODY.pw_gid)
        os.setuid(NOBODY.pw_uid)
        done = app.test_cli_runner().invoke(args=arguments)
        return [done.exit_code, done.output]

    code, said = in_child(run)
    assert code == 1
    assert said.startswith(f"Error: {data_dir} belongs to root and can't be read by this user."), said
    assert "sudo -u root" in said


def test_a_backup_without_a_path_is_kept_in_the_data_directory(
    app: Flask, data_dir: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with contextlib.chdir(elsewhere):
        done = app.test_cli_runner().invoke(args=["backup"])
    assert done.exit_code == 0, done.output
    assert list(elsewhere.iterdir()) == []
    (made,) = (data_dir / "backups").iterdir()
    assert str(made) in done.output
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700
