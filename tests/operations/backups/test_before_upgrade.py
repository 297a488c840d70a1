"""The backup before an upgrade: made whenever tables change, or nothing changes."""

from __future__ import annotations

import json
import logging
import os
import stat
import tarfile
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest
from alembic import command
from flask import Flask
from sqlalchemy import text

from app import create_app
from app.core.config import load_settings
from app.core.extensions import db
from app.operations import database
from app.operations.backups import before_upgrade, snapshot
from tests import postgres
from tests.migrations import alembic_config, environ

pytestmark = pytest.mark.usefixtures("programs_of_postgres")


@pytest.fixture
def older(app: Flask, session) -> str:
    """The revision before the newest one, at which the instance is."""
    command.downgrade(alembic_config(), "-1")
    session.close()
    (revision,) = database.heads()
    return revision


def kept(data_dir: Path) -> list[str]:
    return [path.name for path in before_upgrade.list_backups(data_dir / "backups")]


@pytest.mark.databases
def test_an_instance_is_backed_up_before_it_is_migrated(older: str, data_dir: Path, caplog) -> None:
    caplog.set_level(logging.INFO)
    database.migrate_tables()
    assert database.is_current()
    (name,) = kept(data_dir)
    assert name.endswith(f"-{older}.tar.gz")
    path = data_dir / "backups" / name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with tarfile.open(path) as tar:
        manifest = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
    assert manifest["revisions"] == [older]
    assert f"The state before it is in {path}." in caplog.text
    database.migrate_tables()
    assert kept(data_dir) == [name], "another one was made of tables that are up to date"


@pytest.mark.databases
def test_a_new_instance_needs_no_backup(database: str, data_dir: Path) -> None:
    app = create_app(load_settings(environ(data_dir, empty() if database == "postgresql" else "")))
    with app.app_context():
        migrate()
        db.engine.dispose()
    assert kept(data_dir) == []


def empty() -> str:
    """The address of an empty database."""
    name = f"empty_{uuid.uuid4().hex}"
    with postgres.started(), postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.address(name)


@pytest.mark.settings(UPGRADE_BACKUPS="2")
def test_the_oldest_go(older: str, data_dir: Path) -> None:
    folder = data_dir / "backups"
    folder.mkdir()
    others = ["before-upgrade-20260101-000000-a.tar.gz", "before-upgrade-20260102-000000-b.tar.gz"]
    strange = ["waypost-20260101-000000.tar.gz", "before-upgrade-notes.txt"]
    left = ".before-upgrade-20260103-000000-c.tar.gz.77"  # of a killed one
    for name in (*others, *strange, left):
        (folder / name).touch()
    database.migrate_tables()
    assert [name[:23] for name in kept(data_dir)] == ["before-upgrade-20260102", kept(data_dir)[1][:23]]
    assert {*strange} <= {path.name for path in folder.iterdir()}
    assert not (folder / left).exists()


@pytest.mark.databases
@pytest.mark.settings(UPGRADE_BACKUPS="0")
def test_none_is_made_where_the_operator_wants_none(older: str, data_dir: Path) -> None:
    database.migrate_tables()
    assert database.is_current()
    assert not (data_dir / "backups").exists()


@pytest.mark.databases
@pytest.mark.parametrize("backups", ["3", "0"])
def test_without_room_nothing_changes(
    older: str, data_dir: Path, backups: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from app.web.application import settings, use_settings

    use_settings(replace(settings(), upgrade_backups=int(backups)))
    monkeypatch.setattr(before_upgrade, "SPARE_BYTES", 1 << 60)
    with pytest.raises(click.ClickException, match="has no room, so nothing was changed") as refused:
        database.migrate_tables()
    assert ("WAYPOST_UPGRADE_BACKUPS=0" in refused.value.message) is (backups != "0")
    assert (database.heads(), kept(data_dir)) == ({older}, [])


@pytest.mark.databases
def test_where_the_backup_fails_nothing_changes(older: str, data_dir: Path) -> None:
    (data_dir / "backups").touch()  # no folder
    with pytest.raises(click.ClickException, match=r"so nothing was changed: .*WAYPOST_UPGRADE_BACKUPS=0"):
        database.migrate_tables()
    assert database.heads() == {older}


def test_a_backup_that_is_under_way_is_waited_for(
    older: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(before_upgrade, "WAIT_SECONDS", 0)
    monkeypatch.setattr("app.operations.processes.PATIENCE_SECONDS", 0)
    with snapshot.hold_lock(data_dir / "backup.lock"):
        with pytest.raises(click.ClickException, match="Another backup is under way"):
            database.migrate_tables()
        assert database.heads() == {older}
    database.migrate_tables()
    assert database.is_current()


PROGRAMS = {
    "none": ("", "pg_dump is not here."),
    "an old one": ("pg_dump (PostgreSQL) 9.6.24", "pg_dump is of PostgreSQL 9, and the server of "),
    "a strange one": ("?", "pg_dump is of PostgreSQL ?, and the server of "),
}


@pytest.mark.databases
@pytest.mark.parametrize(("said", "reason"), PROGRAMS.values(), ids=PROGRAMS)
def test_without_a_fitting_pg_dump_there_is_a_warning(
    older: str, data_dir: Path, tmp_path: Path, database: str, said: str, reason: str, caplog, monkeypatch
) -> None:
    if said:
        program = tmp_path / "pg_dump"
        program.write_text(f"#!/bin/sh\necho '{said}'\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    migrate()
    if database == "sqlite":
        assert len(kept(data_dir)) == 1
    else:
        assert kept(data_dir) == []
        assert f"No backup is made before the upgrade: {reason}" in caplog.text


def migrate() -> None:
    database.migrate_tables()
    assert database.is_current()


@pytest.mark.databases
def test_newer_tables_are_refused(session, data_dir: Path) -> None:
    session.execute(text("UPDATE alembic_version SET version_num = 'ffffffffffff'"))
    session.commit()
    session.close()
    for refusing in (database.migrate_tables, database.migrate_first):
        with pytest.raises(click.ClickException, match="a newer Waypost has written to this database"):
            refusing()
    assert database.heads() == {"ffffffffffff"}
    assert kept(data_dir) == []


def test_of_two_machines_at_once_one_backs_up(postgres_template: str, tmp_path: Path) -> None:
    """The other one waits, and finds nothing left to do: it would dump what is half migrated."""
    name = f"two_{os.getpid()}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    folders = [tmp_path / "one", tmp_path / "two"]
    apps = [create_app(load_settings(environ(folder, postgres.address(name)))) for folder in folders]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    with apps[0].app_context():
        command.downgrade(alembic_config(), "-1")
    start = threading.Barrier(2)

    def run(app: Flask) -> None:
        with app.app_context():
            start.wait()
            migrate()
            db.session.remove()
            db.engine.dispose()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, apps))
    with apps[0].app_context():
        db.engine.dispose()
    assert sum(len(kept(folder)) for folder in folders) == 1


@pytest.mark.databases
def test_doctor_says_what_an_upgrade_would_do(older: str, app: Flask, data_dir: Path, session) -> None:
    said = find(app, "migrations", "upgrade")
    assert ("problem", "The database is older than this program.") in said["migrations"]
    does, backs_up, needs = said["upgrade"]
    assert does[1].startswith("The next start applies 1 migration (")
    assert f"is made in {data_dir}/backups; the last 3 are kept" in backs_up[1]
    assert f"MiB in {data_dir} for a while" in needs[1]
    assert {level for level, _ in said["upgrade"]} == {"ok"}
    assert database.heads() == {older}
    assert kept(data_dir) == []


def find(app: Flask, *checks: str) -> dict[str, list[tuple[str, str]]]:
    """The level and the text of what these checks of `doctor` find."""
    done = app.test_cli_runner().invoke(args=["doctor", "--json"])
    found = json.loads(done.stdout)
    return {
        name: [(each["level"], each["detail"]) for each in found if each["check"] == name] for name in checks
    }
