"""`flask doctor`: reports what is wrong with this instance and what to do about it. Changes nothing."""

# see docs/decisions/2026-11-23-doctor-changes-nothing.md
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import NamedTuple

import click
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.cli.failures import ReadingCommand
from app.core.config import Settings
from app.core.extensions import db
from app.core.patience import DIAGNOSIS
from app.core.postgresql import limit_waiting
from app.core.read_only import reading_only
from app.operations.checks import (
    around,
    backups,
    data,
    files,
    machine,
)
from app.operations.checks import settings as of_settings
from app.operations.checks.finding import Check, Finding, problem

CHECKS: dict[str, Check] = {
    "settings": of_settings.settings_check,
    "files": files.files_check,
    "space": machine.room_check,
    "clock": machine.clock_check,
    "redis": machine.redis_check,
    "processes": machine.processes_check,
    "instance": data.instance_check,
    "database": data.database_check,
    "upgrade": data.upgrade_check,  # before the next one, whose problem leaves all checks of tables out
    "migrations": data.migrations_check,
    "servers": around.servers_check,
    "times": machine.times_check,
    "logs": data.log_check,
    "journal": data.journal_check,
    "limited": data.limited_check,
    "counts": data.counts_check,
    "clickhouse": around.clickhouse_check,
    "secret": of_settings.secret_check,
    "pictures": data.pictures_check,
    "places": around.places_check,
    "backups": backups.backups_check,
    "backed up": backups.backup_times_check,
}
FIT = ("instance", "database", "migrations")
NEED_TABLES = (
    "database", "upgrade", "migrations", "servers", "times", "logs",
    "journal", "limited", "counts", "clickhouse", "secret", "pictures", "backed up",
)  # fmt: skip
MARKS = {"ok": "ok", "warning": "warning", "problem": "PROBLEM"}


class ReportLine(NamedTuple):
    check: str
    finding: Finding


@click.command("doctor", cls=ReadingCommand)
@click.option("--mail", is_flag=True, help="Check the mail server, too. Nothing is sent.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@with_appcontext
def doctor(*, mail: bool, is_json: bool) -> None:
    """Check everything that the instance depends on, and say what to do. Changes nothing.

    The instance may be running. Exits with 1 if there is a problem; warnings alone exit with 0.
    """
    settings: Settings = current_app.config["WAYPOST"]
    checks = CHECKS | ({"mail": around.mail_check} if mail else {})
    lines = []
    with reading_only(db.session, db.engine):
        if db.engine.dialect.name == "postgresql":
            limit_waiting(db.engine, DIAGNOSIS)  # a server that hangs is reported, not waited for
        for line in all_of(checks, settings):
            lines.append(line)
            if not is_json:
                tell(line)
    if is_json:
        click.echo(json.dumps([{"check": each.check, **asdict(each.finding)} for each in lines], indent=1))
    if problems := sum(line.finding.level == "problem" for line in lines):
        raise click.exceptions.Exit(1) if is_json else click.ClickException(f"{problems} to put right.")


def all_of(checks: Mapping[str, Check], settings: Settings) -> Iterator[ReportLine]:
    """Runs the checks. Those that need tables are skipped once the database is missing or not up to date:
    one line says so instead of all of them."""
    is_fit = True
    for name, check in checks.items():
        if is_fit or name not in NEED_TABLES:
            for line in looked(name, check, settings):
                is_fit = is_fit and not (name in FIT and line.finding.level == "problem")
                yield line


def looked(name: str, check: Check, settings: Settings) -> Iterator[ReportLine]:
    """What a check finds. A check that fails itself is reported as a problem, and the others go on."""
    try:
        for finding in check(settings):
            yield ReportLine(name, finding)
    except (SQLAlchemyError, OSError, click.ClickException) as error:
        db.session.rollback()
        said = error.message if isinstance(error, click.ClickException) else error_text(error)
        yield ReportLine(name, problem(said.partition("\n")[0], "Put that right first."))


def error_text(error: Exception) -> str:
    return str(error.orig if isinstance(error, DBAPIError) else error)


def tell(line: ReportLine) -> None:
    finding = line.finding
    click.echo(f"{MARKS[finding.level]:8}{line.check + ':':12}{finding.detail}")
    if finding.advice:
        click.echo(f"{'':20}→ {finding.advice}")
