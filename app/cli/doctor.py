"""`flask doctor`: is anything wrong with this instance, and what is to be done about it?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import NamedTuple

import click
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.cli.checks import around, data, machine, secret
from app.cli.checks.finding import Check, Finding, problem
from app.cli.failures import ReadingCommand
from app.config import Settings
from app.extensions import db

CHECKS: dict[str, Check] = {
    "settings": machine.settings_check,
    "files": machine.files_check,
    "space": machine.room_check,
    "clock": machine.clock_check,
    "processes": machine.processes_check,
    "instance": data.instance_check,
    "database": data.database_check,
    "migrations": data.migrations_check,
    "logs": data.log_check,
    "journal": data.journal_check,
    "counts": data.counts_check,
    "secret": secret.secret_check,
    "pictures": data.pictures_check,
    "places": around.places_check,
}
FIT = ("instance", "database", "migrations")
NEED_TABLES = ("database", "migrations", "logs", "journal", "counts", "secret", "pictures")
MARKS = {"ok": "ok", "warning": "warning", "problem": "PROBLEM"}


class Line(NamedTuple):
    check: str
    finding: Finding


@click.command("doctor", cls=ReadingCommand)
@click.option("--mail", is_flag=True, help="Ask the mail server, too; nothing is sent.")
@click.option("--json", "is_json", is_flag=True, help="For programs.")
@with_appcontext
def doctor(*, mail: bool, is_json: bool) -> None:
    """Look at everything an instance stands on, running or not, and say what to do. Changes nothing.

    Exits with 1 where there is a problem; a warning is none.
    """
    settings: Settings = current_app.config["WAYPOST"]
    checks = CHECKS | ({"mail": around.mail_check} if mail else {})
    lines = []
    for line in all_of(checks, settings):
        lines.append(line)
        if not is_json:
            tell(line)
    if is_json:
        click.echo(json.dumps([{"check": each.check, **asdict(each.finding)} for each in lines], indent=1))
    if problems := sum(line.finding.level == "problem" for line in lines):
        raise click.exceptions.Exit(1) if is_json else click.ClickException(f"{problems} to put right.")


def all_of(checks: Mapping[str, Check], settings: Settings) -> Iterator[Line]:
    """Where the database is not there or not up to date, one line says so, and not each that needs it."""
    is_fit = True
    for name, check in checks.items():
        if is_fit or name not in NEED_TABLES:
            for line in looked(name, check, settings):
                is_fit = is_fit and not (name in FIT and line.finding.level == "problem")
                yield line


def looked(name: str, check: Check, settings: Settings) -> Iterator[Line]:
    """What a check finds; one that can't look has found a problem, and the others go on."""
    try:
        for finding in check(settings):
            yield Line(name, finding)
    except (SQLAlchemyError, OSError, click.ClickException) as error:
        db.session.rollback()
        said = error.message if isinstance(error, click.ClickException) else told(error)
        yield Line(name, problem(said.partition("\n")[0], "Put that right first."))


def told(error: Exception) -> str:
    return str(error.orig if isinstance(error, DBAPIError) else error)


def tell(line: Line) -> None:
    finding = line.finding
    click.echo(f"{MARKS[finding.level]:8}{line.check + ':':12}{finding.detail}")
    if finding.advice:
        click.echo(f"{'':20}→ {finding.advice}")
