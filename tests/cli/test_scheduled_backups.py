"""Backups to the place of the settings: made, encrypted, listed, rehearsed, restored, and told of when they fail."""

from __future__ import annotations

import contextvars
import datetime as dt
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import time_machine
from click.testing import Result
from flask import Flask
from sqlalchemy import select

from app.core.clock import now
from app.core.extensions import db
from app.jobs.backups import BACKUP, REHEARSAL, BackupState, is_overdue, read_state, tell_if_overdue
from app.net.s3 import Bucket
from app.notifications.models import SystemEmail
from app.operations.backups.stores import FolderOfBackups
from tests.cli.test_backup import refused as refused_by
from tests.s3_server import S3Server
from tests.server import Server, wait_for

Run = Callable[..., Result]
WORDS = "four slow trains at dawn"
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def run(app: Flask) -> Run:
    """Runs commands in contexts of their own, as processes of their own would."""

    def run(*arguments: object, code: int = 0) -> Result:
        runner = app.test_cli_runner()
        done = contextvars.Context().run(runner.invoke, args=[str(each) for each in arguments])
        assert done.exit_code == code, done.output
        return done

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def use(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Changes settings of the application."""

    def use(**changes: object) -> None:
        for name, value in changes.items():
            monkeypatch.setitem(app.config["WAYPOST"].__dict__, name, value)

    return use


@pytest.fixture
def admin_mails(session) -> Callable[[], list[tuple[str, str]]]:
    def mails() -> list[tuple[str, str]]:
        session.rollback()
        rows = session.scalars(
            select(SystemEmail).where(SystemEmail.about == "backups").order_by(SystemEmail.id)
        )
        return [(row.email, row.content["title"]) for row in rows]

    return mails


def state(session, kind: str) -> BackupState:
    session.rollback()
    session.expire_all()
    found = read_state(session, kind)
    assert found is not None
    return found


def test_it_goes_to_the_folder_and_is_noted(run: Run, use, session, alice, folder: Path) -> None:
    use(backup_to=str(folder))
    done = run("backup")
    (path,) = folder.iterdir()
    assert str(path) in done.output
    assert path.stat().st_mode & 0o777 == 0o600
    found = state(session, BACKUP)
    assert (found.name, found.size, found.failed) == (str(path), path.stat().st_size, None)
    assert path.name in run("backup", "--list").output


def test_a_passphrase_encrypts_all_of_it(run: Run, use, alice, folder: Path, tmp_path: Path) -> None:
    use(backup_to=str(folder), backup_passphrase=WORDS)
    run("backup")
    (path,) = folder.iterdir()
    assert path.name.endswith(".tar.gz.age")
    assert path.read_bytes().startswith(b"Waypost backup, encrypted")
    other = Server(tmp_path / "other")
    refused = refused_by(other, "restore", str(path))
    assert "is encrypted: add --passphrase" in refused
    (tmp_path / "words").write_text(f"{WORDS}\n")
    assert "Restored" in other.flask("restore", str(path), "--passphrase-file", str(tmp_path / "words"))
    assert "alice" in other.flask("users", "list")


@pytest.mark.databases
@pytest.mark.full
def test_a_rehearsal_restores_and_checks(
    run: Run, use, session, alice, make_link, folder: Path, data_dir: Path, programs_of_postgres
) -> None:
    make_link(alice, url="kept")
    use(backup_to=str(folder), backup_passphrase=WORDS)
    run("backup")
    done = run("backup", "--verify", "latest")
    assert "can be restored" in done.output
    assert "can be brought up to date" in done.output
    assert state(session, REHEARSAL).failed is None
    assert not list(data_dir.glob(".rehearsal-*"))
    # another test may have some at this moment
    wait_for(lambda: scratch_databases() == [], "no scratch database")
    (name,) = [path.name for path in folder.iterdir()]
    assert "can be restored" in run("backup", "--verify", name).output
    assert "can be restored" in run("backup", "--verify", folder / name).output
    assert "can be restored" in run("backup", "--verify").output


def scratch_databases() -> list[str]:
    if db.engine.dialect.name != "postgresql":
        return []
    with db.engine.connect() as connection:
        names = connection.exec_driver_sql("SELECT datname FROM pg_database").scalars()
        return [name for name in names if name.startswith("waypost_rehearsal")]


def test_what_can_not_be_restored_is_noted(run: Run, use, session, alice, folder: Path) -> None:
    use(backup_to=str(folder))
    run("backup")
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-2000])
    assert "This is no whole backup" in run("backup", "--verify", "latest", code=1).output
    assert "This is no whole backup" in state(session, REHEARSAL).reason


def test_a_failure_is_mailed_to_the_admins_once_a_day(
    run: Run, use, session, alice, bob, make_user, folder: Path, admin_mails
) -> None:
    bob.is_admin = True
    make_user("carol@example.com")
    session.commit()
    folder.write_text("a file where the folder should be")
    use(backup_to=str(folder), smtp_url="smtp://127.0.0.1:1")
    with time_machine.travel(now(), tick=False) as clock:
        for _ in range(3):
            run("backup", code=1)
            clock.shift(HOUR)
        title = "The backup failed"
        assert admin_mails() == [("alice@example.com", title), ("bob@example.com", title)]
        clock.shift(24 * HOUR)
        run("backup", code=1)
        assert len(admin_mails()) == 2, "a mail that was not sent yet is replaced"
        assert "File exists" in state(session, BACKUP).reason
        folder.unlink()
        run("backup")
        assert state(session, BACKUP).failed is None
        folder.rename(folder.with_name("away"))
        folder.touch()
        run("backup", code=1)
        assert state(session, BACKUP).told == now(), "the next failure is told at once"


def test_without_a_mail_server_a_failure_is_noted(run: Run, use, session, alice, folder, admin_mails) -> None:
    folder.write_text("a file")
    use(backup_to=str(folder))
    run("backup", code=1)
    assert admin_mails() == []
    assert state(session, BACKUP).failed is not None
    assert "One failed at" in run("doctor", code=1).output


def test_an_overdue_backup_is_told(use, session, app, alice, admin_mails) -> None:
    use(backup_to="/nowhere", smtp_url="smtp://127.0.0.1:1")
    with time_machine.travel(dt.datetime(2026, 11, 25, 12, 0, tzinfo=dt.UTC), tick=False) as clock:
        tell_if_overdue(session, app.config["WAYPOST"])
        assert admin_mails() == [], "it has just been set up"
        clock.shift(20 * HOUR)
        tell_if_overdue(session, app.config["WAYPOST"])
        assert admin_mails() == [], "six hours are for the backup itself"
        clock.shift(2 * HOUR)
        tell_if_overdue(session, app.config["WAYPOST"])
        assert admin_mails() == [("alice@example.com", "There was no backup for too long")]


NOON = dt.datetime(2026, 11, 25, 12, 0, tzinfo=dt.UTC)
OVERDUE = {
    "made last night": (NOON - 8 * HOUR, "15 3 * * *", False),
    "made the night before": (NOON - 33 * HOUR, "15 3 * * *", True),
    "made by something else's times": (NOON - 1000 * HOUR, "", False),
    "made weekly": (NOON - 80 * HOUR, "15 3 * * 0", False),
}


@pytest.mark.parametrize(("made", "cron", "expected"), OVERDUE.values(), ids=OVERDUE)
def test_what_is_overdue(made: dt.datetime, cron: str, expected: bool) -> None:
    with time_machine.travel(NOON, tick=False):
        assert is_overdue(BackupState(since=made, succeeded=made), cron) is expected


def test_old_ones_go_after_a_new_one_is_complete(run: Run, use, app, alice, folder: Path) -> None:
    from app.core.storage_settings import retention

    use(backup_to=str(folder), backup_keep=retention("2d"))
    folder.mkdir()
    old = [folder / f"waypost-202601{day:02}-031500.tar.gz" for day in range(1, 6)]
    for path in old:
        path.touch()
    (folder / "mine.tar.gz").touch()
    done = run("backup")
    assert [path.exists() for path in old] == [False, False, False, False, True]
    assert (folder / "mine.tar.gz").exists()
    assert done.output.count("Removed: ") == 4


def test_a_failed_one_removes_nothing(run: Run, use, alice, folder: Path, monkeypatch) -> None:
    from app.core.storage_settings import retention

    use(backup_to=str(folder), backup_keep=retention("1d"))
    folder.mkdir()
    for day in (1, 2):
        (folder / f"waypost-2026010{day}-031500.tar.gz").touch()

    def full(_snapshot, out, _passphrase) -> None:
        out.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.cli.backup.write_archive", full)
    run("backup", code=1)
    assert sorted(path.name[8:16] for path in folder.iterdir()) == ["20260101", "20260102"]


def test_one_that_can_not_remove_old_ones_is_good_and_told(
    run: Run, use, session, alice, folder: Path, monkeypatch
) -> None:
    use(backup_to=str(folder))

    def refuse(*_arguments: object) -> None:
        raise PermissionError("not allowed")

    monkeypatch.setattr("app.cli.backup.remove_old", lambda *arguments, **options: refuse())
    run("backup", code=1)
    found = state(session, BACKUP)
    assert (found.succeeded is not None, found.reason) == (True, "not allowed")


@pytest.fixture
def bucket(s3_server: S3Server, use) -> Bucket:
    """A bucket that the settings name."""
    address = s3_server.new_bucket()
    account = s3_server.account()
    use(
        backup_to=address,
        s3_endpoint=account.endpoint,
        s3_access_key_id=account.key_id,
        s3_secret_access_key=account.secret,
    )
    return Bucket(account, address)


@pytest.mark.full
def test_a_bucket_holds_it_and_gives_it_back(
    run: Run, use, alice, make_link, bucket: Bucket, s3_server: S3Server, tmp_path: Path
) -> None:
    make_link(alice, url="kept")
    use(backup_passphrase=WORDS)
    done = run("backup")
    (found,) = bucket.objects()
    assert f"{bucket.address}/{found.name}" in done.output
    assert "can be restored" in run("backup", "--verify", "latest").output
    (tmp_path / "words").write_text(WORDS)
    settings = {**s3_server.settings(), "BACKUP_PASSPHRASE_FILE": str(tmp_path / "words")}
    for number, name in enumerate((f"{bucket.address}/{found.name}", "latest", found.name)):
        other = Server(tmp_path / str(number), BACKUP_TO=bucket.address, **settings)
        assert "Restored" in other.flask("restore", name)
        with sqlite3.connect(other.data_dir / "main.db") as main:
            assert main.execute("SELECT url FROM link").fetchall() == [("kept",)]
        main.close()


def test_a_bucket_with_a_wrong_key_says_so(run: Run, use, session, alice, bucket: Bucket) -> None:
    use(s3_secret_access_key="another")
    said = run("backup", code=1).output
    assert "403" in said
    assert "403" in state(session, BACKUP).reason
    assert "can't be used" in run("doctor", code=1).output


def test_metrics_and_doctor_say_when_the_last_one_was(run: Run, use, app, alice, folder: Path) -> None:
    from app.operations.metrics import render_metrics

    use(backup_to=str(folder))
    assert "waypost_backup_succeeded_timestamp_seconds 0\n" in render_metrics(app.config["WAYPOST"])
    run("backup")
    db.session.rollback()
    said = render_metrics(app.config["WAYPOST"])
    assert "waypost_backup_failing 0\n" in said
    assert f"waypost_backup_bytes {next(folder.iterdir()).stat().st_size:g}\n" in said
    assert "The last backup was made at" in run("doctor", code=1).output, "the tests' own key is too short"


def test_drafts_of_killed_backups_are_removed_a_day_later(folder: Path) -> None:
    folder.mkdir()
    drafts = [folder / f".waypost-2026010{day}-031500.tar.gz.age.77" for day in (1, 2)]
    for path in drafts:
        path.touch()
    os.utime(drafts[0], (0, 0))
    FolderOfBackups(folder).check()
    assert [path.exists() for path in drafts] == [False, True]


@pytest.mark.full
def test_the_worker_makes_one_by_schedule(make_server, folder: Path) -> None:
    """A schedule of every minute; the process of the backup is the worker's."""
    server = make_server(BACKUP_TO=str(folder), BACKUP_AT="* * * * *", BACKUP_VERIFY_AT="* * * * *")
    wait_for(lambda: folder.is_dir() and list(folder.glob("waypost-*.tar.gz")), "a backup", seconds=150)
    wait_for(lambda: "rehearsal of a backup went well" in server.flask("doctor"), "a rehearsal", seconds=150)
    assert server.status("/readyz") == 200
