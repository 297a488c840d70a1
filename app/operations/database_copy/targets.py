"""Opens source and target of a copy, and makes sure that the target may be written: it is empty, or ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import click
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from app.core.config import PREFIX, Settings
from app.core.config_sources import masked
from app.core.database import CLICKS, clicks_path
from app.core.folders import PROGRAM, ROOT
from app.core.setting_values import SQLITE, database_address
from app.core.write_stop import identify
from app.operations.database_copy.postgres_store import AIDS, PostgresStore
from app.operations.database_copy.progress import NAME, CopyProgress, describe_source
from app.operations.database_copy.sqlite_store import SqliteStore
from app.operations.database_copy.store import CopyStore
from app.operations.database_copy.tables import names_of, transient_tables

DRAFT = ".database-copy-"
NOT_TABLES = {"alembic_version", NAME, f"{CLICKS}.{NAME}", AIDS}


def read_address(text: str, settings: Settings) -> str:
    """The address of a target. Raises ClickException for one that can't be used."""
    try:
        address = database_address(text)
    except ValueError as error:
        raise click.ClickException(f"--to {error}") from None
    if identify(address) == identify(settings.database_url):
        raise click.ClickException("--to names the database that is copied.")
    if address.startswith(SQLITE):
        path = Path(make_url(address).database or "")
        if not path.parent.is_dir():
            raise click.ClickException(f"--to: the folder {path.parent} does not exist.")
        if path.with_name("clicks.db") in {clicks_path(settings), path}:
            raise click.ClickException("--to: clicks.db beside that file belongs to this instance.")
    return address


def open_source(settings: Settings) -> CopyStore:
    if settings.is_sqlite:
        main = Path(make_url(settings.database_url).database or "")
        return SqliteStore(main, clicks_path(settings), is_target=False)
    return PostgresStore(settings.database_url, is_target=False)


def open_target(address: str) -> CopyStore:
    """Raises ClickException where it can't be reached."""
    try:
        if address.startswith(SQLITE):
            main = Path(make_url(address).database or "")
            return SqliteStore(main, main.with_name("clicks.db"), is_target=True)
        return PostgresStore(address, is_target=True)
    except OperationalError as error:
        said = str(error.orig).strip().splitlines()[-1]
        raise click.ClickException(f"The target can't be reached ({masked(address)}): {said}") from None


def prepare_target(source: CopyStore, target: CopyStore, address: str, settings: Settings) -> CopyProgress:
    """Makes the tables in an empty target.

    Raises ClickException where it is neither empty nor of this copy.
    """
    progress = CopyProgress(target)
    wanted = describe_source(identify(settings.database_url), source.revisions())
    if not progress.exists():
        require_empty(target)
        progress.create(wanted)
    elif progress.source() is None:  # killed while it was made
        progress.create(wanted)
    elif progress.source() != wanted:
        raise click.ClickException(
            "The target has a part of another copy: of another instance, or of tables of another version."
            " Make a new database, and name that."
        )
    if not progress.is_prepared():
        if target.revisions() != source.revisions():
            target.release()
            make_tables(address, settings.data_dir)
        empty_tables(target)
        target.prepare_target()
        progress.note_prepared()
    require_tables(source, target)
    return progress


def require_empty(target: CopyStore) -> None:
    if found := target.list_tables():
        raise click.ClickException(
            f"The target is not empty: it has {len(found)} tables ({min(found)} …), and no copy was begun in"
            " it. Make a new database, and name that."
        )


def require_tables(source: CopyStore, target: CopyStore) -> None:
    """Raises ClickException where a table would be missed, on either side."""
    known = names_of(source.tables) | transient_tables() | NOT_TABLES
    if unknown := target.list_tables() - known:
        raise click.ClickException(
            f"The target has tables that are not copied: {', '.join(sorted(unknown))}."
        )
    if missing := names_of(source.tables) - target.list_tables():
        raise click.ClickException(f"The target lacks tables: {', '.join(sorted(missing))}.")


def make_tables(address: str, data_dir: Path) -> None:
    """Runs the migrations in a process of its own, for which the target is the database."""
    for left in data_dir.glob(f"{DRAFT}*"):  # of killed copies
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=DRAFT, dir=data_dir) as directory:
        own = {"DATA_DIR": directory, "DATABASE_URL": address, "CLICKS_URL": "", "DATABASE_URL_FILE": ""}
        own |= {"CLICKS_URL_FILE": "", "SECRET_KEY": "of no use to the tables", "SECRET_KEY_FILE": ""}
        own |= {"UPGRADE_BACKUPS": "0", "UPGRADE_BACKUPS_FILE": ""}
        environ = os.environ | {PREFIX + name: value for name, value in own.items()}
        command = [*PROGRAM, "db", "upgrade"]
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["?"]
        raise click.ClickException(f"The tables can't be made in the target: {said[-1]}")


def empty_tables(target: CopyStore) -> None:
    """Removes the rows that migrations have made, children first."""
    for table in reversed(target.tables):
        with target.transaction():
            target.delete(table, None, None)
