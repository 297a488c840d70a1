"""`flask restore`: makes a backup the instance of this data directory."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click
from flask import current_app
from flask.cli import with_appcontext

from app.cli.failures import Command
from app.cli.passphrases import BackupSource, passphrase_options, read_passphrase
from app.core import clock
from app.core.config import Settings
from app.core.extensions import db
from app.core.running_address import LOCK
from app.jobs.maintenance import WORKER_LOCK
from app.net.s3 import BucketError
from app.operations.backups import archive, restoring
from app.operations.backups.encryption import is_encrypted, opened_archive
from app.operations.backups.keys import GivenKeys, find_keys
from app.operations.backups.manifest import ENCRYPTED_KEYS, Manifest, UnusableBackup
from app.operations.backups.sources import opened_source
from app.operations.processes import hold_lock


@click.command("restore", cls=Command)
@click.argument("source", metavar="PATH", type=BackupSource())
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
    source: str | io.BufferedReader,
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
    words = read_passphrase(is_asked=passphrase, file=passphrase_file, is_new=False)
    with stopped(settings):
        if not (force or restoring.is_interrupted(settings)):
            restoring.require_empty(settings)
        elif not settings.is_sqlite:
            restoring.require_empty_database()
        with restoring.scratch(settings.data_dir) as directory:
            try:
                made, words = unpack(settings, source, directory, words)
                given = GivenKeys(words, key_file, without_secret)
                keys = find_keys(made, directory, settings, given)
                if settings.is_sqlite:
                    restoring.prepare_copy(directory, settings)
            except (UnusableBackup, BucketError) as error:
                raise click.ClickException(str(error)) from None
            db.session.remove()
            db.engine.dispose()
            aside = restoring.put_in_place(made, directory, settings, keys, force=force)
    report(made, aside, is_without_secret=without_secret)


def unpack(
    settings: Settings, source: str | io.BufferedReader, directory: Path, passphrase: str | None
) -> tuple[Manifest, str | None]:
    """Unpacks the backup. Returns its manifest, and the passphrase of the secret key in it."""
    with opened_source(settings, source) as opened:
        if not is_encrypted(opened):
            made = archive.unpack_archive(opened, directory)
        else:
            passphrase = passphrase or settings.backup_passphrase
            with opened_archive(opened, passphrase) as stream:
                made = archive.unpack_archive(stream, directory)
            passphrase = passphrase if ENCRYPTED_KEYS in made.files else None
    restoring.require_fit(made, settings)
    return made, passphrase


def report(made: Manifest, aside: Path | None, *, is_without_secret: bool) -> None:
    when = clock.written_ms(int(made.as_of * 1000))
    click.echo(f"Restored: every click that was answered before {when} UTC is here.")
    if aside:
        click.echo(f"What was here before is in {aside}.")
    for line in restoring.list_warnings(made, is_without_secret=is_without_secret):
        click.echo(line, err=True)


@contextlib.contextmanager
def stopped(settings: Settings) -> Iterator[None]:
    """Holds the locks of the data directory, so that no server and no worker runs meanwhile."""
    with (
        hold_lock(settings.data_dir / LOCK) as is_ours,
        hold_lock(settings.data_dir / WORKER_LOCK) as is_alone,
        hold_lock(settings.data_dir / "restore.lock") as is_only,
    ):
        if not (is_ours and is_alone and is_only):
            raise click.ClickException(f"Waypost is running on {settings.data_dir}: stop it first.")
        yield
