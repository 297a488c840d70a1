"""`flask export`, `flask import`: how do links come and go as files without a browser?"""

from __future__ import annotations

import gc
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click
from flask.cli import with_appcontext

from app.accounts.models import User
from app.accounts.setup import site
from app.audit.services import record
from app.cli.database import migrate_first, settings
from app.cli.failures import Command, OperatorCommand
from app.cli.import_turn import Turn
from app.cli.lifetime import leave_with_parent
from app.cli.users import require_user
from app.database import begin_write
from app.error_boundary import flush_counts
from app.errors import Invalid
from app.extensions import db
from app.own_addresses import short_url_at
from app.transfer import files, runs, services, tables, taking
from app.transfer.exporting import KINDS, export
from app.transfer.models import LinkImport

SHOWN = 20  # failed rows


@click.command("export", cls=OperatorCommand)
@click.option("--email", required=True, help="Whose links.")
@click.option("--format", "kind", type=click.Choice(list(KINDS)), default="csv", show_default=True)
@click.option("--filter", "filters", multiple=True, metavar="NAME=VALUE", help="As the API's list takes it.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to; else stdout.")
@with_appcontext
def export_links(email: str, kind: str, filters: tuple[str, ...], output: Path | None) -> None:
    """Write a user's links into a file that `import` takes back without loss."""
    migrate_first()
    asked = dict(each.partition("=")[::2] for each in filters)
    base = settings().base_url or site(settings())
    user = require_user(email)
    begin_write(db.session)
    record(db.session, "links.exported", account=user, format=kind)
    db.session.commit()
    found = export(user.id, asked, kind, lambda url, domain: short_url_at(domain or base, url))
    if output is None:
        write(found, sys.stdout.write)
        return
    with open(output, "w", encoding="utf-8", newline="", opener=open_private) as file:
        write(found, file.write)


def open_private(path: str, flags: int) -> int:
    """The file is its owner's alone: it may hold hashes of passwords, also where it was readable before."""
    handle = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(handle).st_mode):  # no pipe, and not /dev/null
        os.fchmod(handle, 0o600)
    return handle


def write(found: Iterator[str], put: object) -> None:
    for piece in found:
        put(piece)  # type: ignore[operator]


@click.command("import", cls=Command)
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--email", help="Whose links they become.")
@click.option("--column", "named", multiple=True, metavar="FIELD=COLUMN", help="Where headings do not tell.")
@click.option("--project", default="", help="Of rows that name none.")
@click.option("--check", "is_check", is_flag=True, help="Say what would happen, and change nothing.")
@click.option("--run", "import_id", type=int, hidden=True, help="Go on with one that was brought already.")
@click.option("--parent", type=int, hidden=True, help="The process to end with.")
@with_appcontext
def import_links(
    file: IO[bytes] | None,
    email: str | None,
    named: tuple[str, ...],
    project: str,
    is_check: bool,
    import_id: int | None,
    parent: int | None,
) -> None:
    """Make links of a table: CSV of Bitly, YOURLS, Kutt, Shlink, Dub, Short.io, Rebrandly, or our own export.

    Once more with the same file, it adds nothing. Exits with 1 where a row failed; all others are taken in.
    """
    if parent is not None:
        leave_with_parent(parent)
    gc.freeze()  # the program itself stays: a sixth of the time went into looking through it again and again
    if import_id is not None:
        runs.run(import_id, settings(), Turn(import_id, settings()).is_over)
        flush_counts(settings().data_dir)
        return
    if file is None or email is None:
        raise click.UsageError("give FILE and --email.")
    migrate_first()
    job = brought(require_user(email), file, dict(each.partition("=")[::2] for each in named), project)
    with files.held(settings().data_dir, job.file):  # before a worker sees that it waits
        begin_write(db.session)
        taking.start(job, "checking" if is_check else "taking")
        db.session.commit()
        runs.go_on(job, settings())
    told(job)


def brought(user: User, file: IO[bytes], named: dict[str, str], project: str) -> LinkImport:
    """The import of a copy of this file."""
    copy = files.new_file(settings().data_dir)
    with copy.open("wb") as kept:
        shutil.copyfileobj(file, kept)
    try:
        looked = services.look(copy)
        begin_write(db.session)
        job = services.bring(user, copy, Path(file.name).name, looked)
        table = tables.open_table(copy)
        services.choose(job, table, {column: field for field, column in (job.columns | named).items()})
    except Invalid as invalid:
        copy.unlink(missing_ok=True)
        raise click.ClickException(
            f"{file.name}: {' '.join(each.title for each in invalid.errors)} (--column FIELD=COLUMN)"
        ) from None
    if missing := [column for column in named.values() if column not in table.columns]:
        copy.unlink()
        raise click.ClickException(f"There is no column {missing[0]}. There are: {', '.join(table.columns)}.")
    job.project = services.project_of(project)
    db.session.commit()
    return job


def told(job: LinkImport) -> None:
    db.session.refresh(job)
    if job.problem:
        raise click.ClickException(job.problem)
    what = "would be made" if job.state == "checked" else "made"
    click.echo(f"{job.made:,} links {what}, {job.known:,} there already, {job.failed:,} failed")
    for is_made in (True, False):
        for row in services.listed_rows(job, SHOWN, is_made=is_made):
            said = "; ".join(f"{field}: {text}" if field else text for field, text in row.problems)
            click.echo(f"line {row.line}: {said}", err=True)
    if count := services.count_made_rows(job):
        come = "would come" if job.state == "checked" else "came"
        click.echo(f"{count:,} of the links {come} in switched off, for their passwords are not in the file")
    if job.failed:
        more = f"{job.failed - SHOWN:,} more are not shown. " if job.failed > SHOWN else ""
        raise click.ClickException(f"{more}{job.failed:,} rows failed.")
