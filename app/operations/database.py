"""Migrations: whether both databases are up to date, and how they are upgraded."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import click
import flask_migrate
from alembic.config import Config
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, Engine, NullPool, create_engine, event, inspect, text

from app.core.config import PREFIX, describe_unknown_name
from app.core.database import clicks_path, prepare_engine
from app.core.extensions import db, migrate
from app.core.file_locks import wait_for_lock
from app.core.folders import PROGRAM, ROOT
from app.core.read_only import address_of
from app.core.running_address import LOCK
from app.jobs.maintenance import WORKER_LOCK
from app.operations.backups.before_upgrade import prepare_upgrade
from app.operations.checks.settings import find_conflicts
from app.operations.processes import hold_lock
from app.operations.revisions import describe_unknown, known_revisions, newest_revisions
from app.operations.secret_key import require_secret_key
from app.web.application import settings

log = logging.getLogger(__name__)

DROP = re.compile(r'DROP TABLE "?(\w+)"?')
RENAME = re.compile(r'ALTER TABLE "?_alembic_tmp_\w+"? RENAME TO "?(\w+)"?')
TRIGGERS = "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
RESTORING = "restoring"  # a file that exists while the instance in DATA_DIR is incomplete
# settings that a copy must not have: they lead to the instance itself, or do not fit its database
OTHER_ADDRESSES = ("CLICKS_URL", "BACKUP_TO")


def keep_triggers(engine: Engine) -> None:
    """Has tables of SQLite keep their triggers where a migration makes them anew.

    Alembic fills a table with another name, drops the old one, with which its triggers go, and renames.
    SQLite renames nothing while a trigger of another table names one that is not there, so those go, too.
    """
    of_dropped: dict[str, list[str]] = {}

    @event.listens_for(engine, "before_cursor_execute")
    def remember(connection: Connection, _cursor: Any, statement: str, *_of_statement: Any) -> None:
        if dropped := DROP.fullmatch(statement.strip()):
            names_it = re.compile(rf"\b{dropped[1]}\b")
            found = [row for row in connection.exec_driver_sql(TRIGGERS) if names_it.search(row.sql)]
            of_dropped[dropped[1]] = [row.sql for row in found]
            for row in found:
                if row.tbl_name != dropped[1]:
                    connection.exec_driver_sql(f"DROP TRIGGER {row.name}")

    @event.listens_for(engine, "after_cursor_execute")
    def make_again(connection: Connection, _cursor: Any, statement: str, *_of_statement: Any) -> None:
        if renamed := RENAME.fullmatch(statement.strip()):
            for trigger in of_dropped.pop(renamed[1], ()):
                connection.exec_driver_sql(trigger)


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
    """Migrates both databases, after a backup of what is there.

    Processes that start at the same time do so one after the other, also on several machines.
    """
    if not is_restoring and (settings().data_dir / RESTORING).exists():
        raise click.ClickException("A restore was interrupted, or is under way: run it again.")
    if is_current():
        return
    require_utf8()
    with wait_for_lock(settings().data_dir / "migrate.lock"), alone_on_server():
        if not is_current():
            require_both_files()
            is_upgrade = is_there() and bool(heads()) and not is_restoring
            run_migrations(prepare_upgrade(settings(), db.engine) if is_upgrade else None)


def require_utf8() -> None:
    """Raises ClickException where PostgreSQL keeps bytes of another encoding, or any bytes (SQL_ASCII)."""
    if settings().is_sqlite:
        return
    encoding = db.session.scalar(text("SHOW server_encoding"))
    db.session.rollback()
    if encoding != "UTF8":
        raise click.ClickException(
            f"The database's encoding is {encoding}, and Waypost needs UTF8. Make another one:"
            " createdb --encoding=UTF8 --template=template0 NAME"
        )


def run_migrations(backup: Path | None) -> None:
    """Runs what is pending, in one transaction. `backup` is what was made of the tables before."""
    kept = f" The state before it is in {backup}." if backup else ""
    try:
        flask_migrate.upgrade(directory=migrate.directory)
    except (Exception, SystemExit):  # the latter from Flask-Migrate, which has logged the reason
        log.exception("The tables could not be brought up to date.%s", kept)
        raise
    log.info("The tables were brought up to date: %s.%s", ", ".join(sorted(heads())), kept)


@contextmanager
def alone_on_server() -> Iterator[None]:
    """Holds a lock of PostgreSQL, so that no other machine backs up what this one migrates meanwhile."""
    if settings().is_sqlite:
        yield
        return
    engine = create_engine(settings().database_url, poolclass=NullPool)
    prepare_engine(engine, settings())
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(7262311)"))
        yield


@contextmanager
def stopped(data_dir: Path) -> Iterator[None]:
    """Holds the locks of the data directory, so that no server and no worker runs meanwhile.

    Raises ClickException where one does.
    """
    names = (LOCK, WORKER_LOCK, "restore.lock")
    with ExitStack() as stack:
        if not all(stack.enter_context(hold_lock(data_dir / name)) for name in names):
            raise click.ClickException(f"Waypost is running on {data_dir}: stop it first.")
        yield


class UpgradeFailed(Exception):
    """The tables of a copy can't be brought up to date. The text is the last line of what was said."""


def upgrade_copy(directory: Path, database_url: str = "") -> None:
    """Brings tables up to date in a process of its own, for which the copy is the instance.

    `database_url`: of tables that are not in files of `directory`. Raises UpgradeFailed.
    """
    own = {name: "" for each in OTHER_ADDRESSES for name in (each, f"{each}_FILE")}
    own |= {"DATA_DIR": str(directory), "DATABASE_URL": database_url, "DATABASE_URL_FILE": ""}
    own |= {"UPGRADE_BACKUPS": "0", "UPGRADE_BACKUPS_FILE": ""}  # the copy is of a backup
    environ = os.environ | {PREFIX + name: value for name, value in own.items()}
    command = [*PROGRAM, "db", "upgrade"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UpgradeFailed((done.stderr.strip().splitlines() or ["?"])[-1])


def is_current() -> bool:
    """Whether nothing is left to migrate. Raises ClickException where no migration leads on."""
    if not is_there():
        return False
    found = heads()
    if unknown := describe_unknown(found):
        raise click.ClickException(unknown)
    return found == newest_revisions()


def pending_migrations() -> list[Script]:
    """The migrations that are not applied yet, the next one first. None where a newer Waypost was here."""
    pending, applied = [], heads()
    if applied - known_revisions():
        return []
    for revision in scripts().walk_revisions():  # there is one line of them, the newest first
        if revision.revision in applied:
            break
        pending.append(revision)
    return pending[::-1]


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
        return heads_of(connection)


def heads_of(connection: Connection) -> set[str]:
    if not inspect(connection).has_table("alembic_version"):
        return set()
    return set(connection.scalars(text("SELECT version_num FROM alembic_version")))


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", migrate.directory)
    return ScriptDirectory.from_config(config)
