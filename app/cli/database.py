"""`flask db upgrade`: brings the tables up to date. `flask db copy`: copies them to another database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import flask_migrate.cli
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from app.cli.failures import Command
from app.cli.tables import print_table
from app.core.config import PREFIX, Settings
from app.core.config_sources import masked
from app.core.postgresql import psycopg
from app.core.setting_values import SQLITE, database_address
from app.operations.database import UpgradeFailed, is_current, migrate_tables, stopped
from app.operations.database_copy import CopyFailed, copy_database

NEWEST = "head"


# Flask-Migrate's own, with a backup before it
@click.command("upgrade", cls=Command, params=[*flask_migrate.cli.upgrade.params])
@with_appcontext
def upgrade(*, revision: str, sql: bool, **options: Any) -> None:
    """Bring the tables up to date, as each start does. A backup is made first, into DATA_DIR/backups."""
    if revision == NEWEST and not sql:
        migrate_tables()
    else:  # of developers
        click.get_current_context().invoke(flask_migrate.cli.upgrade, revision=revision, sql=sql, **options)


@click.command("copy", cls=Command)
@click.option(
    "--to",
    "target",
    required=True,
    help="The address of an empty database: postgresql://… or sqlite:////path/main.db",
)
@with_appcontext
def copy(target: str) -> None:
    """Copy the database from SQLite to PostgreSQL, or back. Stop Waypost first, on all machines.

    Everything is read back and compared. At the end set DATABASE_URL to the new database, and start. The old
    database stays as it is. A copy that does not come to its end leaves nothing: run it again.
    """
    settings: Settings = current_app.config["WAYPOST"]
    address = read_address(target, settings)
    with stopped(settings.data_dir):
        if not is_current():
            raise click.ClickException("The tables are of another version: start Waypost once, then copy.")
        try:
            tables = copy_database(settings, address, note)
        except (CopyFailed, UpgradeFailed) as error:
            raise click.ClickException(f"There is no copy: {error}") from None
        except (DBAPIError, psycopg.Error) as error:
            raise click.ClickException(f"There is no copy: {describe_failure(error, address)}") from error
    print_table(["table", "rows", "digest"], [[each.name, f"{each.rows:,}", each.digest] for each in tables])
    click.echo(
        f"All rows were copied and compared. Set {PREFIX}DATABASE_URL={masked(address)} and start Waypost."
    )
    if settings.clicks_url:
        click.echo(f"Remove {PREFIX}CLICKS_URL, which belongs to the old database.")
    click.echo(f"{PREFIX}DATA_DIR stays {settings.data_dir}: clicks in its journal come in then.")


def read_address(text: str, settings: Settings) -> str:
    """The address of a target, with its driver. Raises ClickException for one that can't be used."""
    try:
        address = database_address(text)
    except ValueError as error:
        raise click.ClickException(f"--to {error}") from None
    if address.startswith(SQLITE) == settings.is_sqlite:
        raise click.ClickException(
            "--to must name the other kind of database. To move within one kind, use `backup` and `restore`."
        )
    parent = Path(make_url(address).database or "").parent
    if address.startswith(SQLITE) and not parent.is_dir():
        raise click.ClickException(f"--to: the folder {parent} does not exist.")
    return address


def note(name: str, rows: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{name}: {rows:,}", err=True, nl=False)


def describe_failure(error: DBAPIError | psycopg.Error, address: str) -> str:
    original = error.orig if isinstance(error, DBAPIError) else error
    said = str(original).strip().partition("\n")[0]
    state = getattr(original, "sqlstate", None) or ""
    if state == "53100" or "disk is full" in said:
        return f"{masked(address)} has no space left ({said})."
    if state == "42501":
        return f"the user of {masked(address)} lacks a right ({said})."
    return f"{masked(address)}: {said}"
