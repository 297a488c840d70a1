"""Whatever a process of Waypost does to its files, it keeps the record locks that SQLite has in it.

A process gives up all its record locks on a file when it closes any descriptor of it, so a plain look at a
database unlocks it in the middle of a transaction.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from app.analytics.engine import open_engine
from app.core.config import Settings
from app.core.counters import Counters, InstanceCounts
from app.core.database import begin_write, engine_options, prepare_engine
from app.core.database_damage import forget_damage, is_file_damaged, note_damage
from app.core.error_boundary import flush_counts, read_counts
from app.core.extensions import db
from app.core.file_copies import remove_old_copies
from app.core.poll_loop import quiet_database
from app.import_export.exporter import KINDS, export
from app.import_export.tables import open_table
from app.jobs import maintenance
from app.journal.reader import read
from app.journal.segments import directory_of, list_segments
from app.journal.writer import Journal
from app.links import uploads
from app.links.pictures import Picture
from app.operations import database
from app.operations.health import CHECKS, GROUPS, run_group
from app.operations.metrics import render_metrics
from app.operations.processes import ForkedProcess
from app.rate_limit.storages import FILE, TableStorage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks is Linux's")

NAMES = ("main.db", "main.db-shm", "clicks.db", "clicks.db-shm", FILE, f"{FILE}-shm")

Locks = frozenset[tuple[str, str]]


def locks_of(data_dir: Path) -> Locks:
    """The record locks that this process has on SQLite's files: each with its file, kind and range."""
    files = {str((data_dir / name).stat().st_ino): name for name in NAMES}
    found = set[tuple[str, str]]()
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if fields[1:2] == ["POSIX"] and fields[4] == str(os.getpid()):
            inode = fields[5].rpartition(":")[2]
            if inode in files:
                found.add((files[inode], " ".join((fields[3], *fields[6:]))))
    return frozenset(found)


@pytest.fixture
def held(app: Flask, settings: Settings) -> Iterator[Locks]:
    """The locks of a process that writes all its databases."""
    main = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(main, settings)
    clicks = open_engine(settings)
    limits = TableStorage(settings)
    limits.acquire_entry("somebody", 3, 600)
    with Session(main) as session, clicks.begin() as counting:
        begin_write(session)
        session.execute(text("UPDATE project SET name = name"))
        counting.execute(text("UPDATE counter SET clicks = clicks"))
        found = locks_of(settings.data_dir)
        assert {name for name, _ in found} == set(NAMES)
        assert {name for name, lock in found if lock.startswith("WRITE")} >= {"main.db-shm", "clicks.db-shm"}
        yield found
    limits.close()
    main.dispose()
    clicks.dispose()


def look_for_damage(_app: Flask, settings: Settings) -> None:
    assert not any(is_file_damaged(settings.data_dir / name) for name in ("main.db", "clicks.db"))


def note_and_forget_damage(_app: Flask, settings: Settings) -> None:
    broken = settings.data_dir / "broken"
    broken.write_bytes(b"x" * 1000)
    with closing(sqlite3.connect(broken)) as connection, pytest.raises(sqlite3.DatabaseError) as raised:
        connection.execute("SELECT 1 FROM sqlite_master")
    note_damage(raised.value, settings.data_dir)
    forget_damage(settings.data_dir)


def check_readiness(_app: Flask, _settings: Settings) -> None:
    found: dict[str, dict[str, object]] = {}
    for names in GROUPS.values():
        run_group(names, found)
    assert found.keys() == CHECKS.keys()
    assert found["database"]["ok"], found


def show_metrics(_app: Flask, settings: Settings) -> None:
    assert "database_up 1" in render_metrics(settings)


def run_doctor(app: Flask, _settings: Settings) -> None:
    assert "main.db is intact" in app.test_cli_runner().invoke(args=["doctor"]).output


def make_backup(app: Flask, settings: Settings) -> None:
    target = settings.data_dir.parent / "backup.tar.gz"
    done = app.test_cli_runner().invoke(args=["backup", str(target)])
    assert target.exists(), done.output


def look_for_tables(_app: Flask, _settings: Settings) -> None:
    assert database.is_there()
    assert database.find_missing_file() is None


def watch_files(_app: Flask, settings: Settings) -> None:
    quiet = quiet_database(db.engine, 1)
    assert quiet is not None
    quiet.is_quiet()
    maintenance.wal_bytes(db.engine)
    maintenance.beat(settings.data_dir)


def checkpoint(_app: Flask, _settings: Settings) -> None:
    maintenance.checkpoint(db.engine)


def open_and_close_connections(_app: Flask, settings: Settings) -> None:
    engine = create_engine(settings.database_url, **engine_options(settings))
    prepare_engine(engine, settings)
    with engine.connect() as connection:
        connection.execute(text("SELECT count(*) FROM link")).scalar()
    engine.dispose()


def count_by_another_storage(_app: Flask, settings: Settings) -> None:
    other = TableStorage(settings)
    assert other.acquire_entry("another", 3, 600)
    other.close()


def write_journal(_app: Flask, settings: Settings) -> None:
    directory = directory_of(settings.data_dir)
    for sync in ("worker", "group"):
        journal = Journal(directory, sync=sync, segment_bytes=1)
        assert journal.append(b"{}\n")
        assert journal.append(b"{}\n")
        journal.close()
    for name in list_segments(directory):
        read(directory, name, 0, 1)


def count_in_files(_app: Flask, settings: Settings) -> None:
    made = Counters()
    made.open(settings.data_dir, "web")
    InstanceCounts(settings.data_dir).get("cache hits")
    flush_counts(settings.data_dir)
    read_counts(settings.data_dir)


def keep_and_remove_pictures(_app: Flask, settings: Settings) -> None:
    kept = uploads.keep(Picture(b"content", "png"))
    again = uploads.keep_again(kept)
    assert uploads.path_of(again).read_bytes() == b"content"
    uploads.remove_files([uploads.path_of(name) for name in (kept, again)])
    remove_old_copies(settings.data_dir)


def read_a_table(_app: Flask, settings: Settings) -> None:
    path = settings.data_dir / "imports" / "table.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("url,destination\nx,https://example.com\n")
    assert open_table(path)


def break_off_exports(_app: Flask, _settings: Settings) -> None:
    for kind in KINDS:
        pieces = export(1, {}, kind, lambda url, _: url)
        assert next(pieces)
        del pieces


def fork(_app: Flask, _settings: Settings) -> None:
    assert ForkedProcess("a child", lambda _parent: os._exit(0)).wait() == 0


def run_a_program(_app: Flask, _settings: Settings) -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


OPERATIONS: dict[str, Callable[[Flask, Settings], None]] = {
    "a look for damage": look_for_damage,
    "a note of damage": note_and_forget_damage,
    "checks of readiness": check_readiness,
    "metrics": show_metrics,
    "doctor": run_doctor,
    "a backup": make_backup,
    "a look for tables": look_for_tables,
    "watched files": watch_files,
    "a checkpoint": checkpoint,
    "another pool of connections": open_and_close_connections,
    "another storage of limits": count_by_another_storage,
    "the journal": write_journal,
    "counters": count_in_files,
    "pictures": keep_and_remove_pictures,
    "a table to import": read_a_table,
    "exports that are broken off": break_off_exports,
    "a fork": fork,
    "another program": run_a_program,
}


@pytest.mark.parametrize("run", OPERATIONS.values(), ids=OPERATIONS)
def test_locks_are_kept(
    run: Callable[[Flask, Settings], None], app: Flask, settings: Settings, held: Locks
) -> None:
    with app.app_context():
        run(app, settings)
    assert held <= locks_of(settings.data_dir)


@pytest.mark.parametrize("name", ["main.db", "clicks.db", "main.db-shm", FILE])
def test_a_plain_look_gives_them_up(name: str, settings: Settings, held: Locks) -> None:
    """What the test above would find."""
    (settings.data_dir / name).open("rb").close()
    lost = held - locks_of(settings.data_dir)
    assert {file for file, _ in lost} == {name}
