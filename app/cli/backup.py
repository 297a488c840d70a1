"""`flask backup` and `flask restore`: how is an instance kept safe, and brought back?"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click
from flask import current_app
from flask.cli import with_appcontext

from app import clock
from app.cli.backups import archive, restoring
from app.cli.backups.manifest import Manifest, Unfit
from app.cli.backups.snapshot import snapshot
from app.cli.failures import Command
from app.cli.lifetime import held
from app.config import PREFIX, Settings
from app.extensions import db

NICE = 10
STREAM = "-"


@click.command("backup", cls=Command)
@click.argument("path", default=".")
@click.option("--without-secret", is_flag=True, help="Leave the secret key out.")
@click.option("--without-database", is_flag=True, help="Where PostgreSQL is saved in another way.")
@with_appcontext
def backup(path: str, *, without_secret: bool, without_database: bool) -> None:
    """Write an instance into one .tar.gz, running or not. PATH is a file, a directory (the file is named by
    the time then), or - for standard output.

    It holds the databases, the journal, pictures, tables that are being taken in and, unless told otherwise,
    the secret key. Visitors' keys are never in it.
    """
    settings: Settings = current_app.config["WAYPOST"]
    if without_database and settings.is_sqlite:
        raise click.UsageError("--without-database is for PostgreSQL.")
    os.nice(NICE)  # visitors come first
    with snapshot(settings, secret=not without_secret, database=not without_database) as copy:
        said = describe(copy.manifest, settings)
        if path == STREAM:
            archive.write(copy, standard_output())
        else:
            target = target_of(Path(path))
            with new_file(target) as out:
                archive.write(copy, out)
            said = [f"{target}: {target.stat().st_size / 1e6:,.1f} MB", *said]
    for line in said:
        click.echo(line, err=path == STREAM)


def describe(made: Manifest, settings: Settings) -> list[str]:
    lines = [f"Every visit that was answered before {clock.written_ms(int(made.as_of * 1000))} UTC is in it."]
    if "secret_key" in made.files:
        lines.append("The secret key is in it, too: keep it where only you can read it.")
    else:
        where = f"{PREFIX}SECRET_KEY" if environ_has_key() else str(settings.data_dir / "secret_key")
        lines.append(f"The secret key is not in it: keep {where} as well.")
    if not made.revisions:
        lines.append("The database is not in it: save that as well (pg_dump).")
    return lines


def environ_has_key() -> bool:
    return bool(os.environ.get(f"{PREFIX}SECRET_KEY") or os.environ.get(f"{PREFIX}SECRET_KEY_FILE"))


def standard_output() -> IO[bytes]:
    if sys.stdout.isatty():
        raise click.UsageError("Standard output is a terminal: name a file, or lead it into one.")
    return sys.stdout.buffer


def target_of(path: Path) -> Path:
    """Raises ClickException where something is already."""
    target = path / f"waypost-{clock.now():%Y%m%d-%H%M%S}.tar.gz" if path.is_dir() else path
    if target.exists():
        raise click.ClickException(f"{target} is there already.")
    return target


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """A file that is whole and on the disk, or not there."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    draft.touch(mode=0o600, exist_ok=False)
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@click.command("restore", cls=Command)
@click.argument("path")
@click.option("--force", is_flag=True, help="Move an instance that is here already aside.")
@with_appcontext
def restore(path: str, *, force: bool) -> None:
    """Make a backup the instance of this data directory. PATH is its file, or - for standard input.

    All of it is looked through first, and nothing is changed where anything is wrong with it.
    """
    settings: Settings = current_app.config["WAYPOST"]
    with stopped(settings):
        if not (force or restoring.is_interrupted(settings)):
            restoring.require_empty(settings)
        elif not settings.is_sqlite:
            restoring.require_empty_database()
        with scratch(settings.data_dir) as directory:
            try:
                made = unpacked(path, directory)
                restoring.require_fit(made, settings)
                if settings.is_sqlite:
                    restoring.migrated(directory)
            except Unfit as error:
                raise click.ClickException(str(error)) from None
            db.session.remove()
            db.engine.dispose()
            aside = restoring.put_in_place(made, directory, settings, force=force)
    when = clock.written_ms(int(made.as_of * 1000))
    click.echo(f"Restored: every visit that was answered before {when} UTC is here.")
    if aside:
        click.echo(f"What was here before is in {aside}.")
    for line in restoring.warnings(made, settings, os.environ):
        click.echo(line, err=True)


def unpacked(path: str, directory: Path) -> Manifest:
    if path == STREAM:
        return archive.unpack(sys.stdin.buffer, directory)
    with Path(path).open("rb") as source:
        return archive.unpack(source, directory)


@contextlib.contextmanager
def stopped(settings: Settings) -> Iterator[None]:
    """Nobody serves or counts on this data directory meanwhile."""
    with (
        held(settings.data_dir / "serve.lock") as is_ours,
        held(settings.data_dir / "worker.lock") as is_alone,
        held(settings.data_dir / "restore.lock") as is_only,
    ):
        if not (is_ours and is_alone and is_only):
            raise click.ClickException(f"Waypost is running on {settings.data_dir}: stop it first.")
        yield


@contextlib.contextmanager
def scratch(data_dir: Path) -> Iterator[Path]:
    """A directory on the same disk, so that what is in it needs only a new name."""
    for left in data_dir.glob(f"{restoring.DRAFT}*"):
        shutil.rmtree(left, ignore_errors=True)
    directory = data_dir / f"{restoring.DRAFT}{os.getpid()}"
    directory.mkdir(mode=0o700)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
