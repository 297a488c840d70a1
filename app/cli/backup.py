"""`flask backup` and `flask restore`: write an instance into one file, and restore it from that file.

A passphrase is prompted for at the terminal, or read from a file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import click
from flask import current_app
from flask.cli import with_appcontext

from app.cli.failures import Command
from app.core import clock
from app.core.config import Settings
from app.core.extensions import db
from app.jobs.maintenance import WORKER_LOCK
from app.operations.backups import archive, restoring
from app.operations.backups.keys import GivenKeys, find_keys
from app.operations.backups.manifest import ENCRYPTED_KEYS, Manifest, UnusableBackup
from app.operations.backups.snapshot import snapshot
from app.operations.processes import hold_lock
from app.operations.secret_key import place_of_key

NICE = 10
STREAM = "-"
MIN_LENGTH = 12  # of a passphrase

F = TypeVar("F", bound=Callable[..., Any])


def passphrase_options(purpose: str) -> Callable[[F], F]:
    """Adds `--passphrase`, which prompts, and `--passphrase-file`, which reads the first line of a file."""

    def add(command: F) -> F:
        file = click.option(
            "--passphrase-file",
            type=click.File(encoding="utf-8"),
            help="The same, with the passphrase from the first line of a file.",
        )
        asked = click.option("--passphrase", is_flag=True, help=f"{purpose}; the command asks for it.")
        return asked(file(command))

    return add


def read_passphrase(*, is_asked: bool, file: IO[str] | None, is_new: bool) -> str | None:
    """The passphrase; None where neither option was given.

    `is_new`: it is prompted for twice, and must be long.
    """
    if is_asked and file is not None:
        raise click.UsageError("Either --passphrase or --passphrase-file.")
    if is_asked:
        found = click.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True)
    elif file is not None:
        found = file.read().partition("\n")[0].rstrip("\r")
    else:
        return None
    if is_new and len(found) < MIN_LENGTH:
        raise click.UsageError(f"A passphrase has at least {MIN_LENGTH} characters.")
    return str(found)


@click.command("backup", cls=Command)
@click.argument("path", required=False)
@passphrase_options("Hold the secret key, encrypted by a passphrase")
@click.option(
    "--without-secret",
    is_flag=True,
    help="Leave the secret key out. This is the default without a passphrase.",
)
@click.option(
    "--without-database", is_flag=True, help="Leave PostgreSQL out, if it is backed up in another way."
)
@with_appcontext
def backup(
    path: str | None,
    *,
    passphrase: bool,
    passphrase_file: IO[str] | None,
    without_secret: bool,
    without_database: bool,
) -> None:
    """Back up the instance into one .tar.gz, running or not. PATH is a file, a directory (the file
    is named by the time then), or - for standard output. The default is `backups` in the data directory.

    It holds the databases, the journal, pictures and files of unfinished imports. The secret key is in it
    only with a passphrase, encrypted by that; otherwise keep the key elsewhere, because a restore needs it.
    The daily salt of visitor hashes is never in it.
    """
    settings: Settings = current_app.config["WAYPOST"]
    if without_database and settings.is_sqlite:
        raise click.UsageError("--without-database is for PostgreSQL.")
    words = read_passphrase(is_asked=passphrase, file=passphrase_file, is_new=True)
    if words is not None and without_secret:
        raise click.UsageError("--without-secret and a passphrase do not go together.")
    os.nice(NICE)  # visitors come first
    with snapshot(settings, passphrase=words, database=not without_database) as copy:
        said = describe(copy.manifest, settings)
        if path == STREAM:
            archive.write(copy, standard_output())
        else:
            target = target_of(Path(path) if path else own_directory(settings))
            with new_file(target) as out:
                archive.write(copy, out)
            said = [f"{target}: {target.stat().st_size / 1e6:,.1f} MB", *said]
            if path is None:
                said.append("It lies beside the instance: keep a copy on another disk.")
    for line in said:
        click.echo(line, err=path == STREAM)


def describe(made: Manifest, settings: Settings) -> list[str]:
    lines = [f"Every visit that was answered before {clock.written_ms(int(made.as_of * 1000))} UTC is in it."]
    lines += describe_keys(made, settings)
    if not made.revisions:
        lines.append("The database is not in it: save that as well (pg_dump).")
    return lines


def describe_keys(made: Manifest, settings: Settings) -> list[str]:
    named = " and ".join(made.keys)
    if not named:
        return ["It needs no secret key: this instance has none yet."]
    if ENCRYPTED_KEYS in made.files:
        return [f"It holds the secret key it needs ({named}), encrypted: keep the passphrase elsewhere."]
    return [f"The secret key it needs ({named}) is not in it: keep {place_of_key(settings)} as well."]


def standard_output() -> IO[bytes]:
    if sys.stdout.isatty():
        raise click.UsageError("Standard output is a terminal: name a file, or lead it into one.")
    return sys.stdout.buffer


def own_directory(settings: Settings) -> Path:
    """The directory of backups for which no path is given."""
    directory = settings.data_dir / "backups"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def target_of(path: Path) -> Path:
    """The file to write. Raises ClickException where it exists already."""
    target = path / f"waypost-{clock.now():%Y%m%d-%H%M%S}.tar.gz" if path.is_dir() else path
    if target.exists():
        raise click.ClickException(f"{target} is there already.")
    return target


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """Writes a file that is complete and synced to disk, or does not exist."""
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
@click.argument("source", metavar="PATH", type=click.File("rb"))
@click.option("--force", is_flag=True, help="Move an existing instance aside.")
@passphrase_options("Read the secret key that the backup holds, by its passphrase")
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="A file that holds the secret key of the backup.",
)
@click.option("--without-secret", is_flag=True, help="Restore without the secret key, if it is lost.")
@with_appcontext
def restore(
    source: IO[bytes],
    *,
    force: bool,
    passphrase: bool,
    passphrase_file: IO[str] | None,
    key_file: Path | None,
    without_secret: bool,
) -> None:
    """Restore a backup into this data directory. PATH is its file, or - for standard input.

    The whole backup is verified first. Nothing is changed if anything is wrong with it.
    """
    settings: Settings = current_app.config["WAYPOST"]
    words = read_passphrase(is_asked=passphrase, file=passphrase_file, is_new=False)
    given = GivenKeys(words, key_file, without_secret)
    with stopped(settings):
        if not (force or restoring.is_interrupted(settings)):
            restoring.require_empty(settings)
        elif not settings.is_sqlite:
            restoring.require_empty_database()
        with scratch(settings.data_dir) as directory:
            try:
                made = archive.unpack_archive(source, directory)
                restoring.require_fit(made, settings)
                keys = find_keys(made, directory, settings, given)
                if settings.is_sqlite:
                    restoring.migrate_copy(directory)
            except UnusableBackup as error:
                raise click.ClickException(str(error)) from None
            db.session.remove()
            db.engine.dispose()
            aside = restoring.put_in_place(made, directory, settings, keys, force=force)
    when = clock.written_ms(int(made.as_of * 1000))
    click.echo(f"Restored: every click that was answered before {when} UTC is here.")
    if aside:
        click.echo(f"What was here before is in {aside}.")
    for line in restoring.list_warnings(made, is_without_secret=without_secret):
        click.echo(line, err=True)


@contextlib.contextmanager
def stopped(settings: Settings) -> Iterator[None]:
    """Holds the locks of the data directory, so that no server and no worker runs meanwhile."""
    with (
        hold_lock(settings.data_dir / "serve.lock") as is_ours,
        hold_lock(settings.data_dir / WORKER_LOCK) as is_alone,
        hold_lock(settings.data_dir / "restore.lock") as is_only,
    ):
        if not (is_ours and is_alone and is_only):
            raise click.ClickException(f"Waypost is running on {settings.data_dir}: stop it first.")
        yield


@contextlib.contextmanager
def scratch(data_dir: Path) -> Iterator[Path]:
    """A temporary directory on the same disk, so that its files are put in place by a rename."""
    for left in data_dir.glob(f"{restoring.DRAFT}*"):
        shutil.rmtree(left, ignore_errors=True)
    directory = data_dir / f"{restoring.DRAFT}{os.getpid()}"
    directory.mkdir(mode=0o700)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
