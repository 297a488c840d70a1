"""`flask backup`: writes an instance into one file, lists what there is, and rehearses a restore."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import click
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy.exc import SQLAlchemyError

from app.cli.failures import Command
from app.cli.passphrases import BackupSource, passphrase_options, read_passphrase
from app.core import clock
from app.core.config import PREFIX, Settings
from app.core.extensions import db
from app.core.storage_settings import S3
from app.core.write_stop import is_stopped
from app.jobs.backup_records import BACKUP, REHEARSAL, note_failure, note_success
from app.net.s3 import BucketError
from app.operations.backups import archive
from app.operations.backups.encryption import encrypted
from app.operations.backups.manifest import ENCRYPTED_KEYS, Manifest, UnusableBackup
from app.operations.backups.rehearsal import rehearse
from app.operations.backups.removal import remove_old
from app.operations.backups.snapshot import BackupUnderWay, snapshot
from app.operations.backups.sources import NamedBackup, find_backup, own_store
from app.operations.backups.stores import LATEST, BackupStore, name_backup, open_store
from app.operations.processes import leave_with_parent
from app.operations.secret_key import place_of_key

NICE = 10
STREAM = "-"


class Wanted(NamedTuple):
    """What a backup is to hold. `is_whole`: the passphrase encrypts all of it, not the secret key alone."""

    passphrase: str | None
    is_whole: bool
    has_secret: bool
    has_database: bool


@click.command("backup", cls=Command)
@click.argument("path", required=False)
@passphrase_options("Hold the secret key, encrypted by a passphrase")
@click.option(
    "--encrypt", is_flag=True, help="Encrypt the whole backup by that passphrase, in the format of age."
)
@click.option(
    "--without-secret",
    is_flag=True,
    help="Leave the secret key out. This is the default without a passphrase.",
)
@click.option(
    "--without-database", is_flag=True, help="Leave PostgreSQL out, if it is backed up in another way."
)
@click.option(
    "--verify",
    type=BackupSource(),
    is_flag=False,
    flag_value=LATEST,
    metavar="[FILE|latest]",
    help="Back up nothing: restore that backup into a scratch place, compare, and remove it.",
)
@click.option("--list", "is_list", is_flag=True, help="Back up nothing: list the backups that are there.")
@click.option("--parent", type=int, hidden=True, help="The process whose end ends this one.")
@with_appcontext
def backup(
    path: str | None,
    *,
    verify: str | io.BufferedReader | None,
    is_list: bool,
    parent: int | None,
    **options: Any,
) -> None:
    """Back up the instance into one .tar.gz, running or not. PATH is a file, a directory (the file
    is named by the time then), s3://bucket/prefix, or - for standard output. The default is BACKUP_TO, where
    backups that BACKUP_KEEP does not keep are removed afterwards; else `backups` in the data directory.

    It holds the databases, the journal, pictures and files of unfinished imports. The secret key is in it
    only with a passphrase, encrypted by that; otherwise keep the key elsewhere, because a restore needs it.
    BACKUP_PASSPHRASE encrypts the whole backup. The daily salt of visitor hashes is never in it.
    """
    if parent is not None:
        leave_with_parent(parent)
    settings: Settings = current_app.config["WAYPOST"]
    if sum((path is not None, verify is not None, is_list)) > 1:
        raise click.UsageError("Either PATH, or --verify, or --list.")
    os.nice(NICE)  # visitors come first
    try:
        if is_list:
            list_backups(settings)
        elif verify is not None:
            rehearse_backup(settings, verify, options)
        else:
            make_backup(settings, path, read_wanted(settings, **options))
    except (BucketError, UnusableBackup) as error:
        raise click.ClickException(str(error)) from None


def read_wanted(
    settings: Settings,
    *,
    passphrase: bool,
    passphrase_file: IO[str] | None,
    encrypt: bool,
    without_secret: bool,
    without_database: bool,
) -> Wanted:
    if without_database and settings.is_sqlite:
        raise click.UsageError("--without-database is for PostgreSQL.")
    words = read_passphrase(is_asked=passphrase, file=passphrase_file, is_new=True)
    if words is not None and without_secret and not encrypt:
        raise click.UsageError("--without-secret and a passphrase do not go together.")
    is_whole = encrypt or (words is None and settings.backup_passphrase is not None)
    words = words or settings.backup_passphrase
    if encrypt and words is None:
        raise click.UsageError(f"--encrypt needs a passphrase: --passphrase, or {PREFIX}BACKUP_PASSPHRASE.")
    return Wanted(words, is_whole, words is not None and not without_secret, not without_database)


def make_backup(settings: Settings, path: str | None, wanted: Wanted) -> None:
    if path == STREAM:
        with copied(settings, wanted) as copy, packed(standard_output(), wanted) as out:
            archive.write(copy, out)
        tell(describe(copy.manifest, settings), is_error=True)
        return
    is_to_own_store = path is None and settings.backup_to is not None
    with noted(settings, BACKUP, is_noted=is_to_own_store):
        store, name = target_of(settings, path, wanted)
        store.check()  # before everything is copied for nothing
        start = time.monotonic()
        with copied(settings, wanted) as copy, store.create(name) as out:
            counted: Any = CountingWriter(out)
            with packed(counted, wanted) as stream:
                archive.write(copy, stream)
        address, seconds = store.address_of(name), time.monotonic() - start
        tell([f"{address}: {counted.size / 1e6:,.1f} MB", *describe(copy.manifest, settings)])
        if is_to_own_store:
            note_made(settings, BACKUP, address, counted.size, seconds)
            tell([f"Removed: {each}" for each in remove_old(store, settings.backup_keep, made=name)])
        elif path is None:
            tell(["It lies beside the instance: keep a copy on another disk."])


def note_made(settings: Settings, kind: str, address: str, size: int, seconds: float) -> None:
    if not is_stopped(settings):  # else the database, which is being moved, takes no changes
        note_success(db.session, kind, name=address, size=size, seconds=seconds)


@contextlib.contextmanager
def copied(settings: Settings, wanted: Wanted) -> Iterator[Any]:
    words = wanted.passphrase if wanted.has_secret else None
    with snapshot(settings, passphrase=words, database=wanted.has_database) as copy:
        yield copy


@contextlib.contextmanager
def packed(out: IO[bytes], wanted: Wanted) -> Iterator[IO[bytes]]:
    if not (wanted.is_whole and wanted.passphrase):
        yield out
        return
    with encrypted(out, wanted.passphrase) as stream:
        yield stream


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


def target_of(settings: Settings, path: str | None, wanted: Wanted) -> NamedBackup:
    """Where to write. Raises ClickException where a file of that name exists already."""
    name = name_backup(is_encrypted=wanted.is_whole)
    if path is None:
        return NamedBackup(own_store(settings), name)
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
        if is_noted and not is_stopped(settings):
            reason = error.message if isinstance(error, click.ClickException) else str(error)
            try:
                note_failure(db.session, settings, kind, reason or type(error).__name__)
            except SQLAlchemyError as other:
                click.echo(f"That this failed could not be stored: {other}", err=True)
        raise


def rehearse_backup(settings: Settings, source: str | io.BufferedReader, options: dict[str, Any]) -> None:
    words = read_passphrase(is_asked=options["passphrase"], file=options["passphrase_file"], is_new=False)
    is_own = isinstance(source, str) and not source.startswith(S3) and settings.backup_to is not None
    address = "The backup"
    with noted(settings, REHEARSAL, is_noted=is_own):
        start = time.monotonic()
        found = find_backup(settings, source) if isinstance(source, str) else source
        done = rehearse(settings, found, words or settings.backup_passphrase)
        if isinstance(found, NamedBackup):
            address = found.store.address_of(found.name)
        if is_own:
            note_made(settings, REHEARSAL, address, done.manifest.bytes, time.monotonic() - start)
    tell([f"{address} can be restored.", *done.lines])


def list_backups(settings: Settings) -> None:
    store: BackupStore = own_store(settings)
    for each in store.backups():
        click.echo(f"{clock.format_utc(each.made)}  {each.size / 1e6:12,.1f} MB  {each.name}")


def tell(lines: list[str], *, is_error: bool = False) -> None:
    for line in lines:
        click.echo(line, err=is_error)


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
