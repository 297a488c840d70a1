"""Snapshot of a running instance that holds every click so far exactly once.

It is copied in this order, while nothing is removed from the journal. First the clicks with the offsets of
the journal, for what comes after an offset is still in the journal. Then the journal. Last what owners write,
for a visit in the journal must find its link there, and the link's id must not be given to another one. A
visit of a limited link is in main.db until it is removed, which waits too, and the clicks know which of them
they have.
"""

# see docs/decisions/2026-11-21-backups.md
from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import click
from sqlalchemy import make_url

from app.core.config import Settings
from app.core.database import clicks_path
from app.core.durable_files import scratch_folder
from app.core.file_locks import lock_file
from app.core.secret_keys import ring
from app.core.version import VERSION
from app.journal import segments
from app.operations.backups import postgres
from app.operations.backups.archive import KEYS, MEMBER, Manifest, Snapshot, describe_file
from app.operations.backups.keys import database_key, needed_keys
from app.operations.processes import hold_lock

PATIENCE_SECONDS = 60
BUSY_MS = 10_000
SPARE_BYTES = 64 * 1024 * 1024  # left to the journal, whatever a backup takes
COPIED_DIRECTORIES = ("uploads", "replaced", "imports")
DRAFT = ".backup-"


class BackupUnderWay(click.ClickException):
    """Another process of this instance makes a backup."""


@contextlib.contextmanager
def snapshot(settings: Settings, *, has_secret: bool, has_database: bool) -> Iterator[Snapshot]:
    """Copies the instance, and removes the copy at the end. One with the secret key must be encrypted.

    The copy is in DATA_DIR, where pictures can be hard links and take no room.
    """
    with hold_lock(settings.data_dir / "backup.lock") as is_ours:
        if not is_ours:
            raise BackupUnderWay("Another backup is under way.")
        with scratch_folder(settings.data_dir, DRAFT) as directory:
            require_room(settings, is_twice=has_secret)
            yield take_snapshot(settings, directory, has_secret=has_secret, has_database=has_database)


def take_snapshot(settings: Settings, directory: Path, *, has_secret: bool, has_database: bool) -> Snapshot:
    copier = SqliteFiles(settings) if settings.is_sqlite else postgres.Dumps(settings)
    journal = segments.directory_of(settings.data_dir)
    before, needed = ring.current_keys().all(), database_key()
    with nothing_removed(journal):
        if has_database:
            copier.clicks(directory)
        as_of = time.time()
        copy_journal(journal, directory / "journal")
        # before and after the database: its copy may name a picture that is deleted, or added, meanwhile
        link_files(settings.data_dir, directory)
        if has_database:
            copier.main(directory)
        link_files(settings.data_dir, directory)
    ring.current_keys().reload()
    known = ring.distinct(*ring.current_keys().all(), *before)
    keys = needed_keys(known, needed, is_kept=has_secret)
    if has_secret:
        (directory / KEYS).write_text("\n".join(known), encoding="ascii")
    made = Manifest(
        version=VERSION,
        database="sqlite" if settings.is_sqlite else "postgresql",
        revisions=copier.revisions(directory) if has_database else [],
        as_of=as_of,
        files={name: describe_file(directory / name) for name in sorted(members(directory))},
        keys=keys,
    )
    return Snapshot(directory, made)


class SqliteFiles:
    """Copies of the two files, each as of one moment. Writers do not wait for them."""

    def __init__(self, settings: Settings) -> None:
        self.main_path = Path(make_url(settings.database_url).database or "")
        self.clicks_path = clicks_path(settings)
        if not (self.main_path.exists() and self.clicks_path.exists()):
            raise click.ClickException(f"There is nothing to back up: {self.main_path} is not there.")

    def clicks(self, directory: Path) -> None:
        copy_file(self.clicks_path, directory / "clicks.db")

    def main(self, directory: Path) -> None:
        copy_file(self.main_path, directory / "main.db")

    def revisions(self, directory: Path) -> list[str]:
        with contextlib.closing(sqlite3.connect(directory / "main.db")) as connection:
            return sorted(row[0] for row in connection.execute("SELECT version_num FROM alembic_version"))


def copy_file(source: Path, target: Path) -> None:
    address = f"{source.absolute().as_uri()}?mode=ro"  # a writing connection would checkpoint on close
    try:
        with (
            contextlib.closing(sqlite3.connect(address, uri=True)) as old,
            contextlib.closing(sqlite3.connect(target)) as new,
        ):
            old.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            new.execute("PRAGMA synchronous = OFF")
            old.backup(new)  # all pages in one step: in several it would begin anew at each write
            new.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.Error as error:
        raise click.ClickException(f"{source} can't be copied: {error}") from error


@contextlib.contextmanager
def nothing_removed(journal: Path) -> Iterator[None]:
    """Keeps the ingest from removing segments that it has read. It goes on otherwise."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with lock_file(journal / "keep.lock") as is_ours:
            if is_ours:
                yield
                return
        if time.monotonic() > deadline:
            raise click.ClickException("The journal is held by another program: try again later.")
        time.sleep(0.02)


def copy_journal(journal: Path, target: Path) -> None:
    target.mkdir(mode=0o700)
    for name in [*segments.list_segments(journal), *segments.list_unknown_segments(journal), "dropped"]:
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(journal / name, target / name)


def link_files(data_dir: Path, directory: Path) -> None:
    """Makes hard links to files that are written once and never changed. They take no room."""
    for kind in COPIED_DIRECTORIES:
        (directory / kind).mkdir(mode=0o700, exist_ok=True)
        for path in (data_dir / kind).glob("*"):
            name = f"{kind}/{path.name}"
            if MEMBER.fullmatch(name) and not (directory / name).exists():
                with contextlib.suppress(FileNotFoundError):
                    link_file(path, directory / name)


def link_file(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # not on this kind of disk
        shutil.copyfile(source, target)


def members(directory: Path) -> list[str]:
    found = [path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()]
    return [name for name in found if MEMBER.fullmatch(name)]


def require_room(settings: Settings, *, is_twice: bool) -> None:
    """Raises ClickException where a copy would fill the disk: then clicks would be lost.

    `is_twice`: it is packed on the disk, too, and pictures with it.
    """
    sources = [segments.directory_of(settings.data_dir)]
    if settings.is_sqlite:
        sources += [Path(make_url(settings.database_url).database or ""), clicks_path(settings)]
    files = [file for source in sources for file in (source.iterdir() if source.is_dir() else [source])]
    needed = sum(file.stat().st_size for file in files if file.exists())
    if is_twice:
        folders = [settings.data_dir / name for name in COPIED_DIRECTORIES]
        needed = 2 * needed + sum(file.stat().st_size for folder in folders for file in folder.glob("*"))
    needed += SPARE_BYTES
    space = os.statvfs(settings.data_dir)
    if space.f_bavail * space.f_frsize < needed:
        raise click.ClickException(
            f"{settings.data_dir} has no room for a copy: {needed >> 20:,} MiB are needed for a while."
        )
