"""`flask export` and `flask import` of links, and `flask archive`, which makes an archive of an account."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import stat
import sys
import time
from pathlib import Path
from types import FrameType
from typing import IO, NamedTuple

import click
from flask.cli import with_appcontext

from app.accounts.models import User
from app.accounts.setup import known_site
from app.accounts.workspaces import access_of
from app.audit.services import record
from app.cli.failures import Command, OperatorCommand
from app.cli.users import require_user
from app.core.config import Settings
from app.core.csv_files import format_cell
from app.core.database import begin_write
from app.core.error_boundary import flush_counts
from app.core.errors import Invalid
from app.core.extensions import db
from app.import_export import archives, dates, files, preview, runs, services, tables
from app.import_export.columns import COLUMNS, date_orders
from app.import_export.exporter import KINDS, export
from app.import_export.models import LinkImport
from app.jobs.subprocesses import SLOTS
from app.operations.database import migrate_first
from app.operations.processes import leave_with_parent
from app.web.application import settings
from app.web.urls import short_url_at

SHOWN = 20  # failed rows
TURN_SECONDS = 5.0  # before it makes room for another owner's, where one waits
STEP_SECONDS = 300  # a step that takes longer hangs: the process is killed, which counts as a failed try
MAX_BYTES = 1024**3  # of memory: a row that needs more is a failed row
EMPTY = click.Choice(["keep", "clear"])
OPTIONS = {"date_order": f"--dates {'|'.join(dates.PLACES)}"}


@click.command("export", cls=OperatorCommand)
@click.option("--email", required=True, help="The user's e-mail address.")
@click.option("--format", "kind", type=click.Choice(list(KINDS)), default="csv", show_default=True)
@click.option(
    "--filter", "filters", multiple=True, metavar="NAME=VALUE", help="A filter of the API's list of links."
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write. Default: standard output.",
)
@with_appcontext
def export_links(email: str, kind: str, filters: tuple[str, ...], output: Path | None) -> None:
    """Write a user's links into a file that `import` reads without loss."""
    migrate_first()
    asked = dict(each.partition("=")[::2] for each in filters)
    base = settings().base_url or known_site(settings())
    user = require_user(email)
    mine = access_of(user).workspace_id
    begin_write(db.session)
    record(db.session, "links.exported", account=user, workspace_id=mine, format=kind)
    db.session.commit()
    found = export(mine, asked, kind, lambda url, domain: short_url_at(domain or base, url))
    if output is None:
        sys.stdout.writelines(found)
        return
    with open(output, "w", encoding="utf-8", newline="", opener=open_private) as file:
        file.writelines(found)


def open_private(path: str, flags: int) -> int:
    """Opens a file that only its owner may read, also where it was readable before: it may hold password
    hashes."""
    handle = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(handle).st_mode):  # no pipe, and not /dev/null
        os.fchmod(handle, 0o600)
    return handle


@click.command("import", cls=Command)
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--email", help="The e-mail address of the user who gets the links.")
@click.option(
    "--column",
    "named",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="The column of a field, if its heading is not recognised.",
)
@click.option(
    "--dates",
    "date_order",
    type=click.Choice(list(dates.PLACES)),
    help="The order of day and month in dates.",
)
@click.option("--project", default="", help="The project of rows that name none.")
@click.option("--update", "is_update", is_flag=True, help="Update links that exist: by ID, else by alias.")
@click.option("--empty", type=EMPTY, default="keep", help="With --update: whether empty cells clear values.")
@click.option("--check", "is_check", is_flag=True, help="Report what would happen, and change nothing.")
@click.option("--run", "import_id", type=int, hidden=True, help="Continue an import.")
@click.option("--parent", type=int, hidden=True, help="The process whose end ends this one.")
@with_appcontext
def import_links(
    file: IO[bytes] | None,
    email: str | None,
    named: tuple[str, ...],
    date_order: str | None,
    project: str,
    is_update: bool,
    empty: str,
    is_check: bool,
    import_id: int | None,
    parent: int | None,
) -> None:
    """Create links from a file: CSV or JSON of Bitly, Dub, Kutt, Linkly, Rebrandly, Shlink, Short.io, Switchy
    or YOURLS, an SQL dump of YOURLS, bookmarks of a browser, or our own export, also the ZIP of a whole
    account.

    The same file a second time adds nothing. Exits with 1 if a row failed; all others are imported.

    With --update, cells of an edited export change the links that exist, and each change is printed before;
    with --check as well, nothing but that happens.
    """
    if parent is not None:
        leave_with_parent(parent)
    gc.freeze()  # the program's own objects stay: scanning them again and again took a sixth of the time
    if import_id is not None:
        runs.run(import_id, settings(), ImportTurn(import_id, settings()).is_over)
        flush_counts(settings().data_dir)
        return
    if file is None or email is None:
        raise click.UsageError("give FILE and --email.")
    if empty == "clear" and not is_update:
        raise click.UsageError("--empty clear needs --update.")
    existing = services.Existing(is_update, empty == "clear")
    columns = dict(each.partition("=")[::2] for each in named)
    take_file(email, file, Chosen(columns, date_order or "", project, existing), is_check=is_check)


def take_file(email: str, file: IO[bytes], chosen: Chosen, *, is_check: bool) -> None:
    """Checks the rows of a file, imports them, or both: what is updated is what a check has found."""
    migrate_first()
    job = brought(require_user(email), file, chosen)
    print_columns(job)
    with files.lock_table(settings().data_dir, job.file):  # locked before a worker sees that the import waits
        if is_check or job.is_update:
            go_on(job, "checking")
        if job.is_update and job.state == "checked":
            print_changes(job)
        if not is_check and job.state in ("new", "checked"):
            go_on(job, "taking")
    print_import(job)


def go_on(job: LinkImport, state: str) -> None:
    begin_write(db.session)
    services.start(job, state)
    runs.hold(job, settings())
    db.session.commit()
    runs.go_on(job, settings())
    db.session.refresh(job)


class Chosen(NamedTuple):
    """Options given for a file: field → column, `date_order`, the project of rows that name none, and what
    rows of links that exist do."""

    columns: dict[str, str]
    date_order: str
    project: str
    existing: services.Existing


def brought(user: User, file: IO[bytes], chosen: Chosen) -> LinkImport:
    """Copies the file and makes an import of the copy."""
    copy = files.new_file(settings().data_dir)
    with open(copy, "wb", opener=open_private) as kept:
        shutil.copyfileobj(file, kept)
    try:
        looked = services.look(copy)
        table = tables.open_table(copy)
        fields = {column: field for field, column in (looked.columns | chosen.columns).items()}
        orders = date_orders(table, {field: column for column, field in fields.items()})
        files.store(db.session, copy)
        begin_write(db.session)
        job = services.bring(access_of(user), copy, Path(file.name).name, looked)
        services.choose(job, table, fields, orders, chosen.date_order, chosen.existing)
    except Invalid as invalid:
        copy.unlink(missing_ok=True)
        says = {OPTIONS.get(each.field or "", "--column FIELD=COLUMN") for each in invalid.errors}
        raise click.ClickException(
            f"{file.name}: {' '.join(str(each.title) for each in invalid.errors)} ({', '.join(sorted(says))})"
        ) from None
    if missing := [column for column in chosen.columns.values() if column not in table.columns]:
        copy.unlink(missing_ok=True)
        raise click.ClickException(f"There is no column {missing[0]}. There are: {', '.join(table.columns)}.")
    job.project = services.project_of(chosen.project)
    db.session.commit()
    return job


def print_columns(job: LinkImport) -> None:
    """Prints which column is read as which field, and which columns are left out."""
    for field, column in job.columns.items():
        click.echo(f"{COLUMNS[field].label}: {printable(column)}")
    if job.left_out:
        click.echo(f"Left out: {', '.join(map(printable, job.left_out))}")
    if job.date_order:
        click.echo(f"Dates: {dates.EXAMPLES[job.date_order]}")


def print_changes(job: LinkImport) -> None:
    """Prints before and after of each field, of the first links that an import changes."""
    for row in preview.page_of(job, "changed", 1)[:SHOWN]:
        for name, before, after in row.differences:
            label = COLUMNS[name].label if name in COLUMNS else name
            was, becomes = (printable(format_cell(value)) or "none" for value in (before, after))
            click.echo(f"line {row.line}: {printable(row.alias)}: {label}: {was} → {becomes}")
    if job.changed > SHOWN:
        click.echo(f"{job.changed - SHOWN:,} more links that change are not shown.")


def printable(text: str) -> str:
    """The text without characters that a terminal would take for a command."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def print_import(job: LinkImport) -> None:
    db.session.refresh(job)
    if job.problem:
        raise click.ClickException(job.problem)
    is_checked = job.state == "checked"
    if job.is_update:
        what = " would be" if is_checked else ""
        click.echo(
            f"{job.made:,} links{what} new, {job.changed:,}{what} changed, "
            f"{job.known:,} unchanged, {job.failed:,} failed"
        )
    else:
        what = "would be made" if is_checked else "made"
        click.echo(f"{job.made:,} links {what}, {job.known:,} there already, {job.failed:,} failed")
    for is_made in (True, False):
        for row in services.listed_rows(job, SHOWN, is_made=is_made):
            said = "; ".join(f"{field}: {text}" if field else str(text) for field, text in row.problems)
            click.echo(f"line {row.line}: {said}", err=True)
    if count := services.count_made_rows(job):
        click.echo(f"{count:,} of the links need a check: this file does not hold all of their settings")
    if job.failed:
        more = f"{job.failed - SHOWN:,} more are not shown. " if job.failed > SHOWN else ""
        raise click.ClickException(f"{more}{job.failed:,} rows failed.")


class ImportTurn:
    """A turn begins with the process. SIGTERM ends it after the current step, a second SIGTERM at once."""

    def __init__(self, import_id: int, settings: Settings) -> None:
        self.import_id, self.settings = import_id, settings
        self.until = time.monotonic() + TURN_SECONDS
        self.is_stopped = False
        signal.signal(signal.SIGTERM, self.stop)
        signal.alarm(STEP_SECONDS)
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        self.is_stopped = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def is_over(self) -> bool:
        """Whether to stop now. Called after each step, which also restarts the alarm of a hanging step."""
        signal.alarm(STEP_SECONDS)
        if time.monotonic() < self.until or self.is_stopped:
            return self.is_stopped
        self.until = time.monotonic() + TURN_SECONDS
        return runs.must_share(self.import_id, self.settings, SLOTS)


@click.command("archive", cls=Command, hidden=True)
@click.option("--run", "archive_id", type=int, required=True, help="The archive to make.")
@click.option("--parent", type=int, help="The process whose end ends this one.")
@with_appcontext
def archive(archive_id: int, parent: int | None) -> None:
    """Make an archive that an owner requested in the dashboard."""
    if parent is not None:
        leave_with_parent(parent)
    archives.run(archive_id, settings())
