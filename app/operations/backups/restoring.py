"""Restore: makes a backup the instance of this data directory, all of it or nothing. And its rehearsal.

A rehearsal restores into a scratch place: a folder in DATA_DIR and, on PostgreSQL, a database of its own on
the same server. The running instance is not touched.

The feed goes on at positions, and clicks get ids, that were never given before. What was told after the
backup is of a past that is gone, but readers and receivers have its cursors and ids. Given again, such a
cursor would skip what follows, and a receiver would take a new click for one it has seen.
"""

from __future__ import annotations

import errno
import io
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click
from sqlalchemy import Engine, inspect, make_url, select, text, update
from sqlalchemy.engine import Connection

from app.analytics.engine import open_engine
from app.analytics.rows import SEQUENCE
from app.core import clock
from app.core.config import PREFIX, Settings
from app.core.database import CLICKS, clicks_path
from app.core.database_damage import forget_damage
from app.core.durable_files import scratch_folder, sync_directory
from app.core.extensions import db
from app.events.entries import COUNTER, reserve
from app.journal import segments
from app.operations.backups import postgres
from app.operations.backups.archive import ENCRYPTED_KEYS, KEYS, Manifest, unpack_archive
from app.operations.backups.encryption import UnusableBackup
from app.operations.backups.keys import describe_without, holds_other_keys, key_files, write_keys
from app.operations.backups.snapshot import SPARE_BYTES, BackupUnderWay
from app.operations.backups.stores import NamedBackup, opened_backup
from app.operations.checks.data import look_into
from app.operations.database import RESTORING, UpgradeFailed, migrate_tables, upgrade_copy
from app.operations.processes import hold_lock
from app.operations.revisions import describe_unknown

# what an instance consists of and a start alone does not make. Daily salts stay: they are removed each night
FOLDERS = ("journal", "uploads", "replaced", "imports")
BESIDE = ("-wal", "-shm")
REHEARSAL = ".rehearsal-"


def require_fit(made: Manifest, settings: Settings) -> None:
    """Raises UnusableBackup for a backup of another kind of database, or with unknown tables."""
    kind = "sqlite" if settings.is_sqlite else "postgresql"
    if made.database != kind:
        raise UnusableBackup(
            f"This backup is of an instance on {made.database}; {PREFIX}DATABASE_URL is {kind}."
        )
    if unknown := describe_unknown(set(made.revisions)):
        raise UnusableBackup(f"This backup can't be used here: {unknown}.")


def paths_outside(settings: Settings) -> dict[str, Path]:
    """Paths of those members of a backup that may be outside of DATA_DIR or have another name there."""
    if not settings.is_sqlite:
        return {}
    main = Path(make_url(settings.database_url).database or "")
    return {"clicks.db": clicks_path(settings), "main.db": main}


def find_occupied(settings: Settings) -> list[Path]:
    """Files and folders of an instance that exists already."""
    files = [
        path.with_name(path.name + end) for path in paths_outside(settings).values() for end in ("", *BESIDE)
    ]
    folders = [settings.data_dir / name for name in FOLDERS]
    is_used = {folder: any(is_content(path) for path in folder.glob("*")) for folder in folders}
    return [path for path in files if path.exists()] + [path for path, used in is_used.items() if used]


def is_content(path: Path) -> bool:
    """Whether a file belongs to an instance, and not to what every start makes in a journal: locks, the
    reserve, persistent values."""
    return path.parent.name != "journal" or segments.version_of(path.name) is not None


def require_empty(settings: Settings, *, force: bool) -> None:
    """Raises ClickException where there is an instance already that may not be moved aside."""
    is_interrupted = (settings.data_dir / RESTORING).exists()
    if not (force or is_interrupted) and (found := find_occupied(settings)):
        raise click.ClickException(
            f"There is an instance already ({found[0]}). With --force it is moved aside, and stays."
        )
    if settings.is_sqlite:
        return
    with db.engine.connect() as connection:
        looked = inspect(connection)
        if looked.has_table("alembic_version") or CLICKS in looked.get_schema_names():
            raise click.ClickException("The database is not empty. Make a new one, and name that.")


def prepare_copy(directory: Path, settings: Settings) -> None:
    """Checks the copy for damage, migrates it to the newest revision, and has its feed leave the past that is
    gone: it gives no position and no id of a click that the instance has given since. Raises UnusableBackup.
    """
    check_copy(directory)
    upgrade(directory)
    main = f"sqlite:///{directory / 'main.db'}"
    leave_past_in(replace(settings, data_dir=directory, database_url=main, clicks_url=None))


def leave_past_in(settings: Settings) -> None:
    engine = open_engine(settings)
    try:
        leave_past(engine)
    finally:
        engine.dispose()


def check_copy(directory: Path) -> None:
    """Checks the copies of both SQLite files for damage. Raises UnusableBackup."""
    for name in ("main.db", "clicks.db"):
        faults, _ = look_into(directory / name, directory)
        if faults:
            raise UnusableBackup(f"{name} of this backup is damaged: {'; '.join(faults)}")


def upgrade(directory: Path, database_url: str = "") -> None:
    """Brings a copy up to date. `database_url`: of one in PostgreSQL. Raises UnusableBackup."""
    try:
        upgrade_copy(directory, database_url)
    except UpgradeFailed as error:
        raise UnusableBackup(f"It can't be brought up to date: {error}") from None


def put_in_place(
    made: Manifest, directory: Path, settings: Settings, keys: Sequence[str], *, force: bool
) -> Path | None:
    """Moves the unpacked files to their places, main.db last. Returns where the old instance was moved, if
    there was one.

    After a kill no command starts on the incomplete instance, and a second restore starts over.
    """
    marker, aside = settings.data_dir / RESTORING, None
    was_interrupted = marker.exists()
    marker.touch()
    sync_directory(settings.data_dir)
    if force or was_interrupted:
        aside = moved_aside(settings, keys)
    where = paths_outside(settings)
    for name in sorted(made.files, key=lambda name: (name in where, name)):
        if not name.endswith(".sql") and name not in {KEYS, ENCRYPTED_KEYS}:
            move_file(directory / name, where.get(name, settings.data_dir / name))
    if settings.secret_key_dir is not None:
        write_keys(settings.data_dir, keys)
    if not settings.is_sqlite and made.revisions:
        postgres.restore_dumps(settings, directory)
        db.session.remove()
        db.engine.dispose()
        migrate_tables(is_restoring=True)
        leave_past_in(settings)
    # the marker goes once all names are on the disk
    for folder in (settings.data_dir, *(settings.data_dir / name for name in FOLDERS)):
        if folder.exists():
            sync_directory(folder)
    forget_damage(settings.data_dir)
    marker.unlink()
    return aside


def moved_aside(settings: Settings, keys: Sequence[str]) -> Path | None:
    """Moves the existing instance aside; its secret key, too, where the backup needs another one."""
    found = find_occupied(settings)
    if keys and holds_other_keys(settings.data_dir, keys):
        found += key_files(settings.data_dir)
    if not found:
        return None
    aside = settings.data_dir / f"before-restore-{clock.now():%Y%m%d-%H%M%S}"
    aside.mkdir(mode=0o700)
    for path in found:
        move_file(path, aside / path.name)
    return aside


def move_file(source: Path, target: Path) -> None:
    """Renames a file. Where the target is on another disk, it is copied there first and renamed then."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        draft = target.with_name(f".{target.name}.restoring")
        shutil.copyfile(source, draft)
        draft.chmod(0o600)
        draft.replace(target)
        source.unlink()


def list_warnings(made: Manifest, *, is_without_secret: bool) -> Iterator[str]:
    """What the operator should know before they start the instance."""
    if is_without_secret:
        yield describe_without(made)
    elif not made.keys and KEYS not in made.files:
        yield "The backup names no secret key: without the one of that time, what is encrypted can't be read."
    if not made.revisions:
        yield "The backup is without the database: bring that back by the way it was saved in."


# --- rehearsal


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
        with scratch_folder(settings.data_dir, REHEARSAL) as directory, opened_backup(source) as stream:
            made = unpack_archive(stream, directory, passphrase, spare=SPARE_BYTES)
            require_fit(made, settings)
            lines = [f"{len(made.files):,} files are as its list says."]
            if made.revisions and settings.is_sqlite:
                check_copy(directory)
                upgrade(directory)
                lines.append("Both databases are whole, and can be brought up to date.")
            elif made.revisions:
                lines.append(rehearse_dumps(settings, directory))
            return Rehearsed(made, lines)


def rehearse_dumps(settings: Settings, directory: Path) -> str:
    """Restores the dumps into a database of their own, where the server allows one."""
    with postgres.rehearsal_database(settings) as url:
        if url is None:
            return "The dumps were not restored: the database's user may create no databases (CREATEDB)."
        copy = replace(settings, database_url=url)
        try:
            postgres.restore_dumps(copy, directory)
        except click.ClickException as error:
            raise UnusableBackup(f"The dumps can't be restored: {error.message}") from error
        upgrade(directory, url)
    return "The dumps were restored beside the database, and can be brought up to date."


# of positions, and of ids, for each second since 1970: more than can be given in one, and less than 2**53 in
# all, up to which every program counts exactly
PER_SECOND = 2**20


def leave_past(engine: Engine) -> None:
    """Has positions and ids go on from what the time of this restore gives, which no earlier one has reached.

    `engine`: of the clicks. Nothing else may write meanwhile.
    """
    with engine.begin() as connection:
        reserve(connection, 0)  # there is a row from here on
        given = connection.execute(select(COUNTER.c.position, COUNTER.c.click_id)).one()
        position, click_id = (max(last + PER_SECOND, first_position()) for last in given)
        connection.execute(update(COUNTER).values(position=position, click_id=click_id))
        if connection.dialect.name == "postgresql":
            raise_sequence(connection)


def raise_sequence(connection: Connection) -> None:
    statement = f"SELECT setval('{SEQUENCE}', greatest(last_value + :step, :first)) FROM {SEQUENCE}"  # noqa: S608
    connection.execute(text(statement), {"step": PER_SECOND, "first": first_position()})


def first_position() -> int:
    return int(time.time()) * PER_SECOND
