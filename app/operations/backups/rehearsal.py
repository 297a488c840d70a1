"""Rehearsal of a restore: a backup is restored into a scratch place, compared, and removed again.

A folder in DATA_DIR and, on PostgreSQL, a database of its own on the same server are that place. The running
instance is not touched.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
from sqlalchemy import Connection, NullPool, create_engine, make_url, text
from sqlalchemy.exc import ProgrammingError

from app.core.config import Settings
from app.core.database import prepare_engine
from app.core.patience import WORK
from app.operations.backups import archive, counts, postgres, restoring
from app.operations.backups.encryption import opened_archive
from app.operations.backups.key_encryption import decrypt_keys
from app.operations.backups.manifest import ENCRYPTED_KEYS, Manifest, UnusableBackup
from app.operations.backups.snapshot import SPARE_BYTES, BackupUnderWay
from app.operations.backups.sources import NamedBackup
from app.operations.processes import hold_lock

START = ".rehearsal-"
DATABASE = "waypost_rehearsal_"
NAME = re.compile(rf"{DATABASE}\d{{1,12}}_[0-9a-f]{{8}}", re.ASCII)
ABANDONED_SECONDS = 24 * 3600
MAX_NAMED = 3


class Rehearsed(NamedTuple):
    """A backup that can be restored, and what to say about it."""

    manifest: Manifest
    lines: list[str]


def rehearse(
    settings: Settings, source: NamedBackup | io.BufferedReader, passphrase: str | None
) -> Rehearsed:
    """Restores a backup into a scratch place, compares it with its manifest, and removes it.

    Raises UnusableBackup or BucketError with what is wrong.
    """
    with (
        alone(settings.data_dir),
        restoring.scratch(settings.data_dir, START) as directory,
        opened(source) as stream,
    ):
        with opened_archive(stream, passphrase) as plain:
            made = archive.unpack_archive(plain, directory, spare=SPARE_BYTES)
        restoring.require_fit(made, settings)
        lines = [f"{len(made.files):,} files are as its list says."]
        if ENCRYPTED_KEYS in made.files and passphrase is not None:
            decrypt_keys((directory / ENCRYPTED_KEYS).read_bytes(), passphrase)
            lines.append("The passphrase opens the secret key in it.")
        if made.revisions:
            lines += rehearse_databases(settings, made, directory)
    return Rehearsed(made, lines)


@contextlib.contextmanager
def alone(data_dir: Path) -> Iterator[None]:
    """Holds the lock of rehearsals: each removes what a killed one has left."""
    with hold_lock(data_dir / "rehearsal.lock") as is_ours:
        if not is_ours:
            raise BackupUnderWay("Another rehearsal is under way.")
        yield


@contextlib.contextmanager
def opened(source: NamedBackup | io.BufferedReader) -> Iterator[io.BufferedReader]:
    if isinstance(source, NamedBackup):
        with source.store.open(source.name) as stream:
            yield stream
    else:
        yield source


def rehearse_databases(settings: Settings, made: Manifest, directory: Path) -> list[str]:
    if settings.is_sqlite:
        return rehearse_sqlite(made, directory)
    return rehearse_dumps(settings, made, directory)


def rehearse_sqlite(made: Manifest, directory: Path) -> list[str]:
    restoring.check_copy(directory)
    compare(made, counts.rows_of_files(directory))
    restoring.run_migrations(directory)
    return [*describe(made), "Both databases are whole, and can be brought up to date."]


def rehearse_dumps(settings: Settings, made: Manifest, directory: Path) -> list[str]:
    """Restores the dumps into a database of their own; where the server allows none, counts their rows."""
    compare(made, counts.rows_of_dumps(directory))
    with scratch_database(settings) as url:
        if url is None:
            return [
                *describe(made),
                "The dumps were read, not restored: the database's user may create no databases (CREATEDB).",
            ]
        copy = dataclasses.replace(settings, database_url=url)
        try:
            postgres.restore_dumps(copy, [directory / "clicks.sql", directory / "main.sql"])
        except click.ClickException as error:
            raise UnusableBackup(f"The dumps can't be restored: {error.message}") from error
        compare(made, counts.rows_of_database(url, made.counts))
        restoring.run_migrations(directory, url)
    return [
        *describe(made),
        "The dumps were restored beside the database, and can be brought up to date.",
    ]


@contextlib.contextmanager
def scratch_database(settings: Settings) -> Iterator[str | None]:
    """The address of a new, empty database on the server; None where its user may make none."""
    name = f"{DATABASE}{int(time.time())}_{secrets.token_hex(4)}"
    engine = create_engine(settings.database_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    prepare_engine(engine, settings, patience=WORK)
    try:
        with engine.connect() as connection:
            drop_abandoned(connection)
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0"))
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", "") != "42501":  # insufficient_privilege
            raise
        yield None
        return
    try:
        url = make_url(settings.database_url).set(database=name)
        yield url.render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        engine.dispose()


def drop_abandoned(connection: Connection) -> None:
    """Drops the databases that killed rehearsals left a day ago or more."""
    names = connection.execute(
        text(
            "SELECT datname FROM pg_database"
            " WHERE datname LIKE :start AND pg_get_userbyid(datdba) = current_user"
        ),
        {"start": f"{DATABASE}%"},
    )
    for name in names.scalars().all():
        begun = name.removeprefix(DATABASE).partition("_")[0]
        if NAME.fullmatch(name) and int(begun) < time.time() - ABANDONED_SECONDS:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))


def compare(made: Manifest, found: dict[str, int]) -> None:
    """Raises UnusableBackup where a table has other rows than the manifest says."""
    other = [
        f"{name} ({found.get(name, 0):,} instead of {count:,})"
        for name, count in made.counts.items()
        if found.get(name) != count
    ]
    if other:
        more = f" and {len(other) - MAX_NAMED} more" if len(other) > MAX_NAMED else ""
        raise UnusableBackup(f"Rows are missing or too many: {', '.join(other[:MAX_NAMED])}{more}.")


def describe(made: Manifest) -> list[str]:
    if not made.counts:
        return ["It was made before backups counted their rows, so those were not compared."]
    return [f"{sum(made.counts.values()):,} rows of {len(made.counts)} tables are there."]
