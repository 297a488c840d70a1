"""How does a table come to be an import, and what can its owner do with it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import func, select

from app.accounts.models import User
from app.config import Settings
from app.errors import FieldError, Invalid
from app.extensions import db
from app.reading import Rejected, plain
from app.transfer import columns, tables
from app.transfer.cells import storable
from app.transfer.mails import tell_failed
from app.transfer.models import FailedRow, LinkImport

LARGE = 10 * 1024 * 1024
MOST_ROWS = 1_000_000
MOST_OPEN = 10  # imports of one owner
NO_ROWS = "There are headings in this file, and nothing else."
TOO_MANY = f"This table has more than {MOST_ROWS:,} rows. Divide it into several."
UNFINISHED = ("new", "checking", "checked", "taking")


class Looked(NamedTuple):
    """What a file was found to be before anything is stored about it."""

    columns: dict[str, str]
    rows: int


def look(path: Path, *, is_hasty: bool = False) -> Looked:
    """Reads the file, so in no transaction. One that is no table is removed: Invalid.

    `is_hasty`: somebody waits, so the rows of a large file are only estimated, by its lines.
    """
    try:
        table, rows = estimated(path) if is_hasty and path.stat().st_size > LARGE else counted(path)
    except tables.Unreadable as error:
        path.unlink()
        raise Invalid(FieldError(str(error), "table", "file")) from None
    return Looked(columns.found(table), rows)


def bring(user: User, path: Path, name: str, looked: Looked, host: str = "") -> LinkImport:
    """An import of the table at `path`, its columns guessed."""
    name = storable(name[:255]) or "links.csv"
    job = LinkImport(user_id=user.id, name=name, file=path.name, host=host)
    job.columns, job.rows = looked
    db.session.add(job)
    db.session.flush()
    return job


def counted(path: Path) -> tuple[tables.Table, int]:
    """A table and the number of its rows. Raises Unreadable, also where there are none."""
    table = tables.open_table(path)
    if not (rows := sum(1 for _ in table.rows())):
        raise tables.Unreadable(NO_ROWS)
    if rows > MOST_ROWS:
        raise tables.Unreadable(TOO_MANY)
    return table, rows


def estimated(path: Path) -> tuple[tables.Table, int]:
    """The same at a glance. The number is known once all rows were checked."""
    table = tables.open_table(path)
    if next(table.rows(), None) is None:
        raise tables.Unreadable(NO_ROWS)
    return table, max(1, tables.line_ends(path) - table.has_headings)


def require_few(user: User) -> None:
    """Each keeps a file. Raises Invalid."""
    unfinished = LinkImport.user_id == user.id, LinkImport.state.in_(UNFINISHED)
    if (db.session.scalar(select(func.count()).select_from(LinkImport).where(*unfinished)) or 0) >= MOST_OPEN:
        said = f"{MOST_OPEN} of your imports are not at their end. Finish or leave one of them first."
        raise Invalid(FieldError(said, "too_many", "file"))


def choose(job: LinkImport, table: tables.Table, fields: Mapping[str, str]) -> None:
    """`fields`: column → field, as its owner says; the others are left out. Raises Invalid."""
    chosen = {column: field for column, field in fields.items() if field and column in table.columns}
    twice = sorted({field for field in chosen.values() if list(chosen.values()).count(field) > 1})
    problems = [
        FieldError(f"Two columns are {columns.COLUMNS[field].label}.", "twice", field)
        for field in twice
        if field in columns.COLUMNS
    ]
    if unknown := set(chosen.values()) - columns.COLUMNS.keys():
        problems += [FieldError(f"There is no field {field}.", "choice", field) for field in sorted(unknown)]
    if "location_url" not in chosen.values():
        problems.append(FieldError("Say which column is the destination.", "required", "location_url"))
    if problems:
        raise Invalid(*problems)
    job.columns = {field: column for column, field in chosen.items()}


def require_new(job: LinkImport) -> None:
    if job.state != "new":
        raise Invalid(FieldError("The columns of this table are named already.", "state"))


def project_of(text: str) -> str:
    """The name of a project for rows that name none. Raises Invalid."""
    try:
        return plain(text.strip(), 128)
    except Rejected as rejected:
        raise Invalid(FieldError(str(rejected.args[0]), rejected.args[0].code, "project")) from None


def listed_rows(job: LinkImport, most: int, *, is_made: bool) -> Sequence[FailedRow]:
    """The first rows that failed, or those made that the owner must look at."""
    mine = FailedRow.import_id == job.id, FailedRow.is_made.is_(is_made)
    return db.session.scalars(select(FailedRow).where(*mine).order_by(FailedRow.number).limit(most)).all()


def count_made_rows(job: LinkImport) -> int:
    """How many made rows the owner must look at."""
    mine = FailedRow.import_id == job.id, FailedRow.is_made.is_(True)
    return db.session.scalar(select(func.count()).select_from(FailedRow).where(*mine)) or 0


def end(job: LinkImport) -> None:
    """Leave the rest of the rows. What was made stays."""
    job.state = "ended"
    db.session.flush()


def fail(job: LinkImport, problem: str, settings: Settings) -> None:
    """End an import that can't go on, and tell its owner. The caller has begun the write, and commits."""
    job.state, job.problem = "failed", problem
    tell_failed(db.session, job, settings)
