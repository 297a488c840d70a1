"""Rehearsal of a restore: a backup is restored into a scratch place, checked, and removed again.

A folder in DATA_DIR and, on PostgreSQL, a database of its own on the same server are that place. The running
instance is not touched.
"""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import NamedTuple

import click

from app.core.config import Settings
from app.core.durable_files import scratch_folder
from app.operations.backups import postgres, restoring
from app.operations.backups.archive import Manifest, unpack_archive
from app.operations.backups.encryption import UnusableBackup
from app.operations.backups.snapshot import SPARE_BYTES, BackupUnderWay
from app.operations.backups.stores import NamedBackup, opened_backup
from app.operations.processes import hold_lock

START = ".rehearsal-"


class Rehearsed(NamedTuple):
    """A backup that can be restored, and what to say about it."""

    manifest: Manifest
    lines: list[str]


def rehearse(
    settings: Settings, source: NamedBackup | io.BufferedReader, passphrase: str | None
) -> Rehearsed:
    """Restores a backup into a scratch place, checks it, and removes it.

    Raises UnusableBackup or BucketError with what is wrong.
    """
    with hold_lock(settings.data_dir / "rehearsal.lock") as is_ours:  # each removes what a killed one left
        if not is_ours:
            raise BackupUnderWay("Another rehearsal is under way.")
        with scratch_folder(settings.data_dir, START) as directory, opened_backup(source) as stream:
            made = unpack_archive(stream, directory, passphrase, spare=SPARE_BYTES)
            restoring.require_fit(made, settings)
            lines = [f"{len(made.files):,} files are as its list says."]
            if made.revisions and settings.is_sqlite:
                restoring.check_copy(directory)
                restoring.upgrade(directory)
                lines.append("Both databases are whole, and can be brought up to date.")
            elif made.revisions:
                lines.append(rehearse_dumps(settings, directory))
            return Rehearsed(made, lines)


def rehearse_dumps(settings: Settings, directory: Path) -> str:
    """Restores the dumps into a database of their own, where the server allows one."""
    with postgres.rehearsal_database(settings) as url:
        if url is None:
            return "The dumps were not restored: the database's user may create no databases (CREATEDB)."
        copy = dataclasses.replace(settings, database_url=url, database_direct_url=None)
        try:
            postgres.restore_dumps(copy, directory)
        except click.ClickException as error:
            raise UnusableBackup(f"The dumps can't be restored: {error.message}") from error
        restoring.upgrade(directory, url)
    return "The dumps were restored beside the database, and can be brought up to date."
