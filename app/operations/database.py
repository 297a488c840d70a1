"""Are both databases where the models are, and how do they get there?"""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import flask_migrate
from alembic.config import Config
from alembic.script import ScriptDirectory
from flask import current_app
from sqlalchemy import inspect, text

from app.cli.secret_key import require_secret_key
from app.config import Settings, describe_unknown_name
from app.database import clicks_path
from app.extensions import db, migrate

log = logging.getLogger(__name__)

RESTORING = "restoring"  # a file that is there while what is in DATA_DIR is only half of an instance


def migrate_first() -> None:
    """Prepare for a command that needs the tables: they are there, and so is the secret key they need.

    Settings that are none are named here, so that each start says it once.
    """
    for name in settings().unknown_names:
        log.warning(describe_unknown_name(name))
    migrate_tables()
    require_secret_key(settings())


def migrate_tables(*, is_restoring: bool = False) -> None:
    """Two that start at once do it one after the other."""
    if not is_restoring and (settings().data_dir / RESTORING).exists():
        raise click.ClickException("A restore was interrupted, or is under way: run it again.")
    if is_current():
        return
    with alone(settings().data_dir / "migrate.lock"):
        if not is_current():
            flask_migrate.upgrade(directory=migrate.directory)
            log.info("The tables were brought up to date: %s", ", ".join(sorted(heads())))


def is_current() -> bool:
    """Is there nothing left to migrate? Raises ClickException where a newer Waypost has been at work."""
    if not is_there():
        return False
    script, found = scripts(), heads()
    if unknown := found - {revision.revision for revision in script.walk_revisions()}:
        named = ", ".join(sorted(unknown))
        raise click.ClickException(f"a newer Waypost has written to this database: it is at {named}")
    return found == set(script.get_heads())


def is_there() -> bool:
    """PostgreSQL's always is; of SQLite's two files the second is not made by opening it."""
    if db.engine.dialect.name != "sqlite":
        return True
    return Path(db.engine.url.database or "").exists() and clicks_path(settings()).exists()


def heads() -> set[str]:
    with db.engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return set()
        return set(connection.scalars(text("SELECT version_num FROM alembic_version")))


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", migrate.directory)
    return ScriptDirectory.from_config(config)


def settings() -> Settings:
    found: Settings = current_app.config["WAYPOST"]
    return found


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock of this file; the kernel gives it back however this process ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
