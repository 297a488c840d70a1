"""Migrations: whether both databases are up to date, and how they are upgraded."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import click
import flask_migrate
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from app.core.config import describe_unknown_name
from app.core.database import clicks_path
from app.core.extensions import db, migrate
from app.core.file_locks import wait_for_lock
from app.core.read_only import address_of
from app.operations.checks.settings import find_conflicts
from app.operations.secret_key import require_secret_key
from app.web.application import settings

log = logging.getLogger(__name__)

RESTORING = "restoring"  # a file that exists while the instance in DATA_DIR is incomplete


def migrate_first() -> None:
    """Prepares for a command that needs the tables: migrates them, and requires the secret key they need.

    Unknown and contradictory settings are logged here, so that each start says it once.
    """
    for name in settings().unknown_names:
        log.warning(describe_unknown_name(name))
    for conflict in find_conflicts(settings()):
        log.warning("%s %s", conflict.detail, conflict.advice)
    migrate_tables()
    require_secret_key(settings())


def migrate_tables(*, is_restoring: bool = False) -> None:
    """Migrates both databases. Processes that start at the same time do so one after the other."""
    if not is_restoring and (settings().data_dir / RESTORING).exists():
        raise click.ClickException("A restore was interrupted, or is under way: run it again.")
    if is_current():
        return
    with wait_for_lock(settings().data_dir / "migrate.lock"):
        if not is_current():
            require_both_files()
            flask_migrate.upgrade(directory=migrate.directory)
            log.info("The tables were brought up to date: %s", ", ".join(sorted(heads())))


def is_current() -> bool:
    """Whether nothing is left to migrate. Raises ClickException where a newer Waypost has migrated them."""
    if not is_there():
        return False
    script, found = scripts(), heads()
    if unknown := found - {revision.revision for revision in script.walk_revisions()}:
        named = ", ".join(sorted(unknown))
        raise click.ClickException(f"a newer Waypost has written to this database: it is at {named}")
    return found == set(script.get_heads())


def is_there() -> bool:
    """Whether there are tables, of any version. Always true on PostgreSQL, where only migrations can tell."""
    return db.engine.dialect.name != "sqlite" or all(map(holds_tables, files()))


def require_both_files() -> None:
    """Raises ClickException where only one of SQLite's two files is there: alone it is no instance."""
    if missing := find_missing_file():
        raise click.ClickException(f"{describe_missing(missing)} {advise_missing(missing)}")


def find_missing_file() -> Path | None:
    """The one of SQLite's two files that is missing or empty while the other holds tables; else None."""
    missing = [path for path in files() if not holds_tables(path)]
    return missing[0] if len(missing) == 1 else None


def describe_missing(missing: Path) -> str:
    state = "holds no tables" if missing.exists() else "is missing"
    return f"One of the two databases {state}: {missing}."


def advise_missing(missing: Path) -> str:
    other = next(path for path in files() if path != missing)
    return (
        "Put that file back where it was, or restore a backup: ./waypost restore --force PATH."
        f" To begin anew without either, move {other} away."
    )


def files() -> list[Path]:
    """SQLite's two files; none on PostgreSQL."""
    if db.engine.dialect.name != "sqlite":
        return []
    return [Path(db.engine.url.database or ""), clicks_path(settings())]


def holds_tables(path: Path) -> bool:
    """Whether a SQLite file has any table. True for one that can't be read: other checks report that."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(address_of(path, settings().data_dir), uri=True)) as connection:
            return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return True


def heads() -> set[str]:
    with db.engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return set()
        return set(connection.scalars(text("SELECT version_num FROM alembic_version")))


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", migrate.directory)
    return ScriptDirectory.from_config(config)
