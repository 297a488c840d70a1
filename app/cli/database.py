"""`flask db upgrade`: brings the tables up to date. `flask db copy`: moves them to another database."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click
import flask_migrate.cli
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy.exc import DBAPIError

from app.cli.failures import Command
from app.cli.tables import print_table
from app.core.config import PREFIX, Settings
from app.core.config_sources import masked
from app.core.postgresql import psycopg
from app.operations.checks.finding import plural
from app.operations.database import heads, is_current, migrate_tables
from app.operations.database_copy import moving
from app.operations.database_copy.copier import CopyProblem
from app.operations.database_copy.targets import read_address
from app.operations.processes import hold_lock
from app.operations.revisions import newest_revisions

NEWEST = "head"
NICE = 10
NOTE_SECONDS = 2.0
AGAIN = "Run the same command again: it goes on where this one stopped."


class ProgressLines:
    """Says how far the copy is: each table when it is done, and a line now and then in between."""

    def __init__(self) -> None:
        self._name, self._rows, self._said = "", 0, time.monotonic()

    def note(self, name: str, rows: int) -> None:
        if name != self._name and self._rows:
            click.echo(f"  {self._name}: {self._rows:,} rows", err=True)
        self._name, self._rows = name, rows
        if time.monotonic() - self._said > NOTE_SECONDS:
            self._said = time.monotonic()
            end = "\r" if sys.stderr.isatty() else "\n"
            click.echo(f"  {name}: {rows:,} rows so far{end}", err=True, nl=False)


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
    "--to", "target", help="The address of an empty database: postgresql://… or sqlite:////path/main.db"
)
@click.option(
    "--replace-unstorable",
    is_flag=True,
    help="Put U+FFFD for what the target can't store in texts: NUL, and what is no valid UTF-8.",
)
@click.option("--cancel", is_flag=True, help="Let this database take changes again after a copy.")
@with_appcontext
def copy(target: str | None, *, replace_unstorable: bool, cancel: bool) -> None:
    """Copy the database to another one, from SQLite to PostgreSQL or back, running or not.

    First all is copied while the service runs. Then it takes no changes for a moment, while what has changed
    is copied and everything is compared; redirects go on, and their clicks wait in the journal. At the end
    set DATABASE_URL to the new database and restart. Until then no change is taken. A copy that was killed
    goes on when it is run again.
    """
    settings: Settings = current_app.config["WAYPOST"]
    if (target is None) == (not cancel):
        raise click.UsageError("Either --to or --cancel.")
    with hold_lock(settings.data_dir / "database-copy.lock") as is_ours:
        if not is_ours:
            raise click.ClickException("Another copy is under way.")
        if target is None:
            was_refused = moving.cancel(settings)
            click.echo("Changes are taken again." if was_refused else "No copy was begun.")
            return
        os.nice(NICE)  # visitors come first
        run(settings, read_address(target, settings), replaces=replace_unstorable)


def run(settings: Settings, address: str, *, replaces: bool) -> None:
    if not is_current() or heads() != newest_revisions():
        raise click.ClickException("The tables are of another version: start the service once, then copy.")
    began, lines = time.monotonic(), ProgressLines()
    click.echo(f"Copying to {masked(address)} while the service runs.", err=True)
    try:
        report = moving.move(settings, address, replaces=replaces, note=lines.note, announce=announce)
    except moving.Unstorable as error:
        raise click.ClickException(describe_problems(error.problems)) from None
    except moving.RowsRefused as error:
        raise click.ClickException(f"The copy is not complete: {error.reason}. Changes are taken.") from None
    except moving.Differs as error:
        raise click.ClickException(f"The copy is not complete: {error}. {AGAIN}") from None
    except (DBAPIError, psycopg.Error) as error:
        raise click.ClickException(describe_failure(error)) from error
    if report is not None:
        print_report(report, time.monotonic() - began)
    click.echo(f"It is complete. Set {PREFIX}DATABASE_URL to the new database and restart:")
    click.echo(f"  {PREFIX}DATABASE_URL={masked(address)}")
    if settings.clicks_url:
        click.echo(f"  Remove {PREFIX}CLICKS_URL, which belongs to the old one.")
    click.echo(
        f"{PREFIX}DATA_DIR stays {settings.data_dir}: clicks since then wait in its journal, and come in"
        " once the new database is in use. Until then no change is taken. To stay with the old one instead:"
        " ./waypost db copy --cancel"
    )


def announce(seconds: float) -> None:
    click.echo(f"From now on no change is taken, for about {seconds:,.0f} s. Redirects go on.", err=True)


def print_report(report: moving.MoveReport, seconds: float) -> None:
    print_table(
        ["table", "rows", "digest"], [[each.name, f"{each.rows:,}", each.digest] for each in report.tables]
    )
    total = sum(each.rows for each in report.tables)
    click.echo(
        f"{plural(total, 'row')} in {plural(len(report.tables), 'table')} copied and compared in"
        f" {seconds:,.1f} s; no change was taken for {report.seconds:,.1f} s, in which"
        f" {plural(report.copied_again, 'row')} came."
    )
    for problem in report.replaced:
        click.echo(f"Replaced by U+FFFD in {problem.row}: {problem.reason}", err=True)


def describe_problems(problems: list[CopyProblem]) -> str:
    lines = [f"  {problem.row}: {problem.reason}" for problem in problems]
    return "\n".join(
        [
            f"{plural(len(problems), 'row')} can't be copied as they are, and changes are taken:",
            *lines,
            "Change or delete these, then run the same command again; or add --replace-unstorable for texts.",
        ]
    )


def describe_failure(error: DBAPIError | psycopg.Error) -> str:
    original = error.orig if isinstance(error, DBAPIError) else error
    said = str(original).strip().partition("\n")[0]
    state = getattr(original, "sqlstate", None) or ""
    if state == "53100" or "disk is full" in said:
        return f"There is no space left for the copy: {said}. Free some. {AGAIN}"
    if state == "42501" or "readonly database" in said:
        return f"The user of the database lacks a right: {said}. Grant it. {AGAIN}"
    return f"The copy stopped: {said}. {AGAIN}"
