"""`flask journal import`: takes the journal of a machine that is gone into this instance."""

from __future__ import annotations

import os
from pathlib import Path

import click
from flask import current_app
from flask.cli import with_appcontext

from app.analytics.journal_import import ImportReport, JournalImport
from app.cli.failures import Command
from app.cli.tables import print_table
from app.core.config import Settings
from app.core.extensions import db
from app.journal import segments
from app.links.clicks import ClickCopies
from app.operations.checks.finding import plural
from app.operations.database import migrate_first

NICE = 10


@click.group("journal")
def journal() -> None:
    """Take in the journal of another machine."""


@journal.command("import", cls=Command)
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--takes-old",
    is_flag=True,
    help="Take in also segments that are too old to tell whether they were counted before. Only if you know"
    " that they were not.",
)
@with_appcontext
def import_journal(directory: Path, *, takes_old: bool) -> None:
    """Take in the clicks of a rescued journal. DIRECTORY is `journal` in the data directory of a machine that
    is gone, or a copy of it.

    Each click counts once, however often this is run, whether or not that machine had ingested a part, and
    also if it comes back. The directory is only read. The machine must have used this database, or this one
    is a restored backup of its.
    """
    settings: Settings = current_app.config["WAYPOST"]
    if directory.resolve() == segments.path_of(settings.data_dir).resolve():
        raise click.ClickException("This is the journal of this instance: its worker ingests it.")
    migrate_first()
    os.nice(NICE)  # visitors come first
    run = JournalImport(settings, directory, takes_old=takes_old)
    try:
        report = run.run()
    finally:
        run.close()
    copies = ClickCopies(db.engine)
    while copies.step():
        pass
    print_report(report)


def print_report(report: ImportReport) -> None:
    if not report.taken and not report.skipped:
        raise click.ClickException(
            "No segment of a journal is there. Its name is like <digits>-<letters>.v1."
        )
    print_table(
        ["segment", "clicks", "damaged", "note"],
        [
            *(
                [name, f"{each.clicks:,}", f"{each.damaged:,}", describe_tail(each.tail)]
                for name, each in report.taken.items()
            ),
            *([name, "0", "0", f"skipped: {reason.value}"] for name, reason in report.skipped.items()),
        ],
    )
    click.echo(
        f"{plural(report.clicks, 'click')} taken in, of {plural(len(report.taken), 'segment')};"
        f" {plural(len(report.skipped), 'segment')} skipped; {plural(report.damaged, 'damaged line')}."
    )
    for reason, number in report.count_skipped().items():
        click.echo(f"{plural(number, 'segment')} skipped: {reason.value}.", err=True)


def describe_tail(tail: int) -> str:
    return f"{tail:,} bytes of an unfinished line at its end" if tail else ""
