"""`flask backup`: writes an instance into one file, lists what there is, and rehearses a restore.

`flask restore` makes a backup the instance of this data directory.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import click
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy.exc import SQLAlchemyError

from app.cli.failures import Command
from app.core import clock
from app.core.config import Settings
from app.core.durable_files import scratch_folder
from app.core.extensions import db
from app.core.storage_settings import MIN_PASSPHRASE, S3
from app.jobs.backups import BACKUP, REHEARSAL, note_failure, note_success
from app.net.s3 import BucketError
from app.operations.backups import restoring
from app.operations.backups.archive import KEYS, Manifest, unpack_archive, write_archive
from app.operations.backups.encryption import UnusableBackup
from app.operations.backups.keys import GivenKeys, find_keys
from app.operations.backups.snapshot import BackupUnderWay, snapshot
from app.operations.backups.stores import (
    LATEST,
    NAME,
    NamedBackup,
    find_backup,
    name_backup,
    open_store,
    opened_backup,
    remove_old,
)
from app.operations.database import stopped
from app.operations.processes import leave_with_parent
from app.operations.secret_key import place_of_key

NICE = 10
STREAM = "-"

F = TypeVar("F", bound=Callable[..., Any])
Source = str | io.BufferedReader


class BackupSource(click.ParamType[Any]):
    """A backup: a file, which is opened at once; else `latest`, a name in BACKUP_TO, or s3://bucket/name."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == LATEST or value.startswith(S3):
            return value
        try:
            opened = click.File("rb").convert(value, param, ctx)
        except click.BadParameter:
            if NAME.fullmatch(value):
                return value
            raise
        found: Any = getattr(opened, "_file", opened)  # click's proxy of standard input
        return found if isinstance(found, io.BufferedReader) else io.BufferedReader(found)


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


def read_passphrase(settings: Settings, *, is_asked: bool, file: IO[str] | None, is_new: bool) -> str | None:
    """The passphrase; that of the settings where neither option was given.

    `is_new`: it is prompted for twice, and must be long.
    """
    if is_asked and file is not None:
        raise click.UsageError("Either --passphrase or --passphrase-file.")
    if is_asked:
        found = click.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True)
    elif file is not None:
        found = file.read().partition("\n")[0].rstrip("\r")
    else:
        return settings.backup_passphrase
    if is_new and len(found) < MIN_PASSPHRASE:
        raise click.UsageError(f"A passphrase has at least {MIN_PASSPHRASE} characters.")
    return str(found)


@contextlib.contextmanager
def click_errors() -> Iterator[None]:
    """Raises ClickException with what is wrong with a backup or a bucket."""
    try:
        yield
    except (BucketError, UnusableBackup) as error:
        raise click.ClickException(str(error)) from None


@click.command("backup", cls=Command)
@click.argument("path", required=False)
@passphrase_options("Encrypt the backup by a passphrase, and hold the secret key in it")
@click.option(
    "--without-database", is_flag=True, help="Leave PostgreSQL out, if it is backed up in another way."
)
@click.option(
    "--verify",
    type=BackupSource(),
    is_flag=False,
    flag_value=LATEST,
    metavar="[FILE|latest]",
    help="Back up nothing: restore that backup into a scratch place, check it, and remove it.",
)
@click.option("--list", "is_list", is_flag=True, help="Back up nothing: list the backups that are there.")
@click.option("--parent", type=int, hidden=True, help="The process whose end ends this one.")
@with_appcontext
def backup(
    path: str | None,
    *,
    passphrase: bool,
    passphrase_file: IO[str] | None,
    without_database: bool,
    verify: Source | None,
    is_list: bool,
    parent: int | None,
) -> None:
    """Back up the instance into one .tar.gz, running or not. PATH is a file, a directory (the file
    is named by the time then), s3://bucket/prefix, or - for standard output. The default is BACKUP_TO, where
    backups that BACKUP_KEEP does not keep are removed afterwards; else `backups` in the data directory.

    It holds the databases, the journal, pictures and files of unfinished imports. With a passphrase (also
    BACKUP_PASSPHRASE) it holds the secret key, too, and is encrypted whole; without one keep the key
    elsewhere, because a restore needs it. The daily salt of visitor hashes is never in it.
    """
    if parent is not None:
        leave_with_parent(parent)
    settings: Settings = current_app.config["WAYPOST"]
    if sum((path is not None, verify is not None, is_list)) > 1:
        raise click.UsageError("Either PATH, or --verify, or --list.")
    if without_database and settings.is_sqlite:
        raise click.UsageError("--without-database is for PostgreSQL.")
    is_new = verify is None and not is_list
    words = read_passphrase(settings, is_asked=passphrase, file=passphrase_file, is_new=is_new)
    os.nice(NICE)  # visitors come first
    with click_errors():
        if is_list:
            for each in open_store(settings).backups():
                click.echo(f"{clock.format_utc(each.made)}  {each.size / 1e6:12,.1f} MB  {each.name}")
        elif verify is not None:
            rehearse_backup(settings, verify, words)
        elif path == STREAM:
            made = write_backup(settings, standard_output(), words, has_database=not without_database)
            tell(describe(made, settings), is_error=True)
        else:
            make_backup(settings, path, words, has_database=not without_database)


def make_backup(settings: Settings, path: str | None, words: str | None, *, has_database: bool) -> None:
    is_to_own_store = path is None and settings.backup_to is not None
    with noted(settings, BACKUP, is_noted=is_to_own_store):
        target = target_of(settings, path, is_encrypted=words is not None)
        target.store.check()  # before everything is copied for nothing
        start = time.monotonic()
        with target.store.create(target.name) as out:
            counted: Any = CountingWriter(out)
            made = write_backup(settings, counted, words, has_database=has_database)
        tell([f"{target.address}: {counted.size / 1e6:,.1f} MB", *describe(made, settings)])
        if is_to_own_store:
            seconds = time.monotonic() - start
            note_success(db.session, BACKUP, name=target.address, size=counted.size, seconds=seconds)
            removed = remove_old(target.store, settings.backup_keep, made=target.name)
            tell([f"Removed: {each}" for each in removed])
        elif path is None:
            tell(["It lies beside the instance: keep a copy on another disk."])


def write_backup(settings: Settings, out: IO[bytes], words: str | None, *, has_database: bool) -> Manifest:
    with snapshot(settings, has_secret=words is not None, has_database=has_database) as copy:
        write_archive(copy, out, words)
        return copy.manifest


class CountingWriter(io.RawIOBase):
    """Passes on what is written, and counts it."""

    def __init__(self, out: IO[bytes]) -> None:
        super().__init__()
        self.out, self.size = out, 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.out.write(content)
        self.size += len(content)
        return len(content)


def target_of(settings: Settings, path: str | None, *, is_encrypted: bool) -> NamedBackup:
    """Where to write. Raises ClickException where a file of that name exists already."""
    name = name_backup(is_encrypted=is_encrypted)
    if path is None:
        return NamedBackup(open_store(settings), name)
    if path.startswith(S3) or Path(path).is_dir():
        return NamedBackup(open_store(settings, path.rstrip("/") or path), name)
    if Path(path).exists():
        raise click.ClickException(f"{path} is there already.")
    return NamedBackup(open_store(settings, str(Path(path).parent)), Path(path).name)


@contextlib.contextmanager
def noted(settings: Settings, kind: str, *, is_noted: bool) -> Iterator[None]:
    """Stores a failure and has the admins told, whatever it is; it goes on to the terminal all the same."""
    try:
        yield
    except BackupUnderWay:
        raise
    except Exception as error:
        if is_noted:
            reason = error.message if isinstance(error, click.ClickException) else str(error)
            try:
                note_failure(db.session, settings, kind, reason or type(error).__name__)
            except SQLAlchemyError as other:
                click.echo(f"That this failed could not be stored: {other}", err=True)
        raise


def rehearse_backup(settings: Settings, source: Source, words: str | None) -> None:
    is_own = isinstance(source, str) and not source.startswith(S3) and settings.backup_to is not None
    with noted(settings, REHEARSAL, is_noted=is_own):
        start = time.monotonic()
        found = find_backup(settings, source) if isinstance(source, str) else source
        done = restoring.rehearse(settings, found, words)
        address = found.address if isinstance(found, NamedBackup) else "The backup"
        if is_own:
            seconds, size = time.monotonic() - start, done.manifest.bytes
            note_success(db.session, REHEARSAL, name=address, size=size, seconds=seconds)
    tell([f"{address} can be restored.", *done.lines])


def tell(lines: list[str], *, is_error: bool = False) -> None:
    for line in lines:
        click.echo(line, err=is_error)


def describe(made: Manifest, settings: Settings) -> list[str]:
    lines = [f"Every visit that was answered before {clock.written_ms(int(made.as_of * 1000))} UTC is in it."]
    named = " and ".join(made.keys)
    if not named:
        lines.append("It needs no secret key: this instance has none yet.")
    elif KEYS in made.files:
        lines.append(f"It is encrypted, and holds the secret key it needs ({named}): keep the passphrase.")
    else:
        place = place_of_key(settings)
        lines.append(f"The secret key it needs ({named}) is not in it: keep {place} as well.")
    if not made.revisions:
        lines.append("The database is not in it: save that as well (pg_dump).")
    return lines


def standard_output() -> IO[bytes]:
    if sys.stdout.isatty():
        raise click.UsageError("Standard output is a terminal: name a file, or lead it into one.")
    return sys.stdout.buffer


@click.command("restore", cls=Command)
@click.argument("source", metavar="PATH", type=BackupSource())
@click.option("--force", is_flag=True, help="Move an existing instance aside.")
@passphrase_options("Decrypt the backup by its passphrase")
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="A file that holds the secret key of the backup.",
)
@click.option("--without-secret", is_flag=True, help="Restore without the secret key, if it is lost.")
@with_appcontext
def restore(
    source: Source,
    *,
    force: bool,
    passphrase: bool,
    passphrase_file: IO[str] | None,
    key_file: Path | None,
    without_secret: bool,
) -> None:
    """Restore a backup into this data directory. PATH is its file, - for standard input, s3://bucket/name,
    the name of a backup in BACKUP_TO, or `latest` for the newest one there.

    The whole backup is verified first. Nothing is changed if anything is wrong with it.
    """
    settings: Settings = current_app.config["WAYPOST"]
    words = read_passphrase(settings, is_asked=passphrase, file=passphrase_file, is_new=False)
    with click_errors(), stopped(settings.data_dir):
        restoring.require_empty(settings, force=force)
        with scratch_folder(settings.data_dir, ".restore-") as directory:
            found = find_backup(settings, source) if isinstance(source, str) else source
            with opened_backup(found) as stream:
                made = unpack_archive(stream, directory, words)
            restoring.require_fit(made, settings)
            keys = find_keys(made, directory, settings, GivenKeys(words, key_file, without_secret))
            if settings.is_sqlite:
                restoring.prepare_copy(directory, settings)
            db.session.remove()
            db.engine.dispose()
            aside = restoring.put_in_place(made, directory, settings, keys, force=force)
    when = clock.written_ms(int(made.as_of * 1000))
    click.echo(f"Restored: every click that was answered before {when} UTC is here.")
    if aside:
        click.echo(f"What was here before is in {aside}.")
    tell(list(restoring.list_warnings(made, is_without_secret=without_secret)), is_error=True)
