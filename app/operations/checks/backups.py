"""Checks of scheduled backups: their place, the last good one, and the last rehearsal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from app.core.clock import format_utc
from app.core.config import PREFIX, Settings
from app.core.extensions import db
from app.core.storage_settings import S3
from app.jobs.backups import BACKUP, REHEARSAL, BackupState, is_overdue, read_state
from app.net.s3 import Bucket, BucketError, account_of
from app.operations.checks.finding import Finding, ok, problem, warning

LOOK = "./waypost backup --verify latest"


def backups_check(settings: Settings) -> Iterator[Finding]:
    """The place and the settings. Nothing is written there."""
    target = settings.backup_to
    if target is None:
        yield ok(f"None are scheduled: {PREFIX}BACKUP_TO is not set.")
        return
    yield from place_findings(settings, target)
    if settings.backup_passphrase is None and target.startswith(S3):
        yield warning(
            "Backups are not encrypted, so whoever reads the bucket has all addresses and password hashes.",
            f"Set {PREFIX}BACKUP_PASSPHRASE_FILE, and keep the passphrase elsewhere as well.",
        )


def place_findings(settings: Settings, target: str) -> Iterator[Finding]:
    if target.startswith(S3):
        try:
            Bucket(account_of(settings), target).check()
        except BucketError as error:
            yield problem(
                f"{target} can't be used: {error}", f"See {PREFIX}S3_ENDPOINT and the keys beside it."
            )
        return
    folder = Path(target)
    if folder == settings.data_dir or settings.data_dir in folder.parents:
        yield warning(
            f"{PREFIX}BACKUP_TO is in the data directory, and lost with it.", "Name a place on another disk."
        )
    elif folder.exists() and folder.stat().st_dev == settings.data_dir.stat().st_dev:
        yield warning(
            f"{target} is on the same disk as the data directory.",
            "Copy the backups to another machine, too.",
        )


def backup_times_check(settings: Settings) -> Iterator[Finding]:
    """What the database says about the last runs."""
    if settings.backup_to is None:
        return
    yield describe_backup(read_state(db.session, BACKUP), settings)
    state = read_state(db.session, REHEARSAL)
    if state is not None and state.failed is not None:
        yield problem(f"The last rehearsal of a backup failed: {state.reason}", LOOK)
    elif state is not None and state.succeeded is not None:
        yield ok(f"The last rehearsal of a backup went well at {format_utc(state.succeeded)} UTC.")


def describe_backup(state: BackupState | None, settings: Settings) -> Finding:
    if state is None or state.succeeded is None:
        said = "There was no backup yet."
    else:
        said = f"The last backup was made at {format_utc(state.succeeded)} UTC: {state.name}."
    if state is not None and state.failed is not None:
        return problem(f"{said} One failed at {format_utc(state.failed)}: {state.reason}", "./waypost backup")
    if state is not None and is_overdue(state, settings.backup_at):
        return problem(f"{said} The next one is overdue.", "See whether the worker runs, and its log.")
    if state is None or state.succeeded is None:
        return warning(said, "Make the first one now: ./waypost backup")
    return ok(said)
