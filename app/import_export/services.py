"""Imports from upload to end: reading the file, naming its columns, starting, ending, and clean-up."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from app.accounts.access import Access
from app.accounts.models import User
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export import columns, dates, files, preview, tables
from app.import_export.dates import NO_ORDERS, Orders
from app.import_export.models import UNFINISHED, FailedRow, LinkImport, PreviewRow
from app.import_export.readers import archive
from app.import_export.readers.reader import UnreadableTable, storable
from app.input.parsers import Rejected, plain_text
from app.notifications.security_email import SecurityMail

LARGE = 10 * 1024 * 1024
MAX_ROWS = 1_000_000
MAX_OPEN = 10  # imports of one owner
RETENTION = dt.timedelta(days=7)  # of an import that its owner has not started
NO_ROWS = _l("This file has headings only.")
TOO_MANY = _l("This table has more than %(most)s rows. Divide it into several.", most=lazy_digits(MAX_ROWS))
NO_ORDER = _l("Choose the order of day, month and year: these dates can be read in several ways.")
NO_LINK = _l("To update links, say which column is the alias, the short link or the ID.")
# the columns by which a row says which link it means
NAMING = frozenset({"id", "url", "short_url"})

errors = ErrorBoundary("files of imports")


class FileOverview(NamedTuple):
    """What is known of a file before its import is stored."""

    columns: dict[str, str]
    rows: int


class Existing(NamedTuple):
    """What rows of links that exist do: update these or not; and whether their empty cells clear values."""

    is_update: bool
    clears_empty: bool = False


KEEP = Existing(is_update=False)


def read_existing(existing: str, empty: str) -> Existing:
    """The choice by its two words. Raises Invalid."""
    problems = []
    if existing not in {"", "keep", "update"}:
        problems.append(FieldError(_l("Choose one of the two."), "choice", "existing"))
    if empty not in {"", "keep", "clear"}:
        problems.append(FieldError(_l("Choose one of the two."), "choice", "empty"))
    if problems:
        raise Invalid(*problems)
    return Existing(existing == "update", empty == "clear")


def look(path: Path, *, is_hasty: bool = False) -> FileOverview:
    """Read the file, outside of any transaction.

    A file that can't be imported is removed. Raises Invalid, and Busy where too many ZIPs are being unpacked.

    `is_hasty`: a request is waiting, so the rows of a large file are only estimated, by its lines.
    """
    try:
        with archive.unpacking() if archive.is_zip(path) else nullcontext():
            return overview(path, is_hasty=is_hasty)
    except UnreadableTable as error:
        path.unlink(missing_ok=True)
        raise Invalid(FieldError(error.args[0], "table", "file")) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def overview(path: Path, *, is_hasty: bool) -> FileOverview:
    """The guessed columns and the rows of a table. Raises UnreadableTable, also for none or too many.

    `is_hasty`: those of a large one are estimated; their number is known once all were checked.
    """
    table = tables.open_table(path)
    if next(table.rows(), None) is None:
        raise UnreadableTable(NO_ROWS)
    if is_hasty and table.size > LARGE:
        rows = max(1, table.count_lines() - table.has_headings)
    elif (rows := sum(1 for _ in table.rows())) > MAX_ROWS:
        raise UnreadableTable(TOO_MANY)
    return FileOverview(columns.guess_from_table(table), rows)


def bring(access: Access, path: Path, name: str, looked: FileOverview, host: str = "") -> LinkImport:
    """Add an import of the table at `path`, with the guessed columns."""
    name = storable(name[:255]) or "links.csv"
    job = LinkImport(**access.row_columns, name=name, file=path.name, host=host)
    job.columns, job.rows = looked
    db.session.add(job)
    db.session.flush()
    return job


def require_few(access: Access) -> None:
    """Raises Invalid where the user has `MAX_OPEN` unfinished imports, each of which keeps a file."""
    unfinished = LinkImport.workspace_id == access.workspace_id, LinkImport.state.in_(UNFINISHED)
    if (db.session.scalar(select(func.count()).select_from(LinkImport).where(*unfinished)) or 0) >= MAX_OPEN:
        said = _l(
            "%(most)s of your imports are unfinished. Finish or discard one of them first.",
            most=MAX_OPEN,
        )
        raise Invalid(FieldError(said, "too_many", "file"))


def choose(
    job: LinkImport,
    table: tables.TableFormat,
    fields: Mapping[str, str],
    orders: Orders = NO_ORDERS,
    date_order: str = "",
    existing: Existing = KEEP,
) -> None:
    """Set the columns, the order of dates, and what rows of existing links do. Raises Invalid.

    `fields`: column → field, as the owner chose; other columns are not read. `orders`: the orders that the
    table's dates allow; `date_order`: the owner's choice.
    """
    chosen = {column: field for column, field in fields.items() if field and column in table.columns}
    problems = [
        *problems_of_columns(list(chosen.values()), existing),
        *problems_of_dates(date_order, orders),
    ]
    if problems:
        raise Invalid(*problems)
    job.columns = {field: column for column, field in chosen.items()}
    job.left_out = columns.left_out(table.columns, job.columns)
    job.date_order = date_order or orders.order
    job.is_update, job.clears_empty = existing.is_update, existing.is_update and existing.clears_empty


def problems_of_columns(fields: Sequence[str], existing: Existing) -> Iterator[FieldError]:
    """What is wrong with the fields that were chosen for columns."""
    for field in sorted({field for field in fields if fields.count(field) > 1} & columns.COLUMNS.keys()):
        yield FieldError(_l("Two columns are %(label)s.", label=columns.COLUMNS[field].label), "twice", field)
    for field in sorted(set(fields) - columns.COLUMNS.keys()):
        yield FieldError(_l("There is no field %(field)s.", field=field), "choice", field)
    if existing.is_update and not NAMING & set(fields):
        yield FieldError(NO_LINK, "required", "url")
    if not existing.is_update and "location_url" not in fields:
        yield FieldError(_l("Say which column is the destination."), "required", "location_url")


def problems_of_dates(date_order: str, orders: Orders) -> Iterator[FieldError]:
    if date_order not in {"", *dates.PLACES}:
        yield FieldError(_l("Dates start with the day, month or year."), "choice", "date_order")
    elif orders.is_open and not date_order:
        yield FieldError(NO_ORDER, "required", "date_order")


def require_new(job: LinkImport) -> None:
    if job.state != "new":
        raise Invalid(FieldError(_l("The columns of this table are named already."), "state"))


def project_of(text: str) -> str:
    """The project for rows that name none. Raises Invalid."""
    try:
        return plain_text(text.strip(), 128)
    except Rejected as rejected:
        raise Invalid(FieldError(rejected.args[0].title, rejected.args[0].code, "project")) from None


def listed_rows(job: LinkImport, most: int, *, is_made: bool, page: int = 1) -> Sequence[FailedRow]:
    """Failed rows, or (`is_made`) made ones with a notice for the owner: `most` a page."""
    mine = FailedRow.import_id == job.id, FailedRow.is_made.is_(is_made)
    ordered = select(FailedRow).where(*mine).order_by(FailedRow.number)
    return db.session.scalars(ordered.offset((page - 1) * most).limit(most)).all()


def count_made_rows(job: LinkImport) -> int:
    """The number of made rows with a notice for the owner."""
    mine = FailedRow.import_id == job.id, FailedRow.is_made.is_(True)
    return db.session.scalar(select(func.count()).select_from(FailedRow).where(*mine)) or 0


def start(job: LinkImport, state: str) -> None:
    """Schedule the rows for checking or importing from the first one. Earlier results are deleted.

    Of an import that updates links, rows that were found wrong stay so, and are not read again.
    """
    earlier = delete(FailedRow).where(FailedRow.import_id == job.id)
    if state == "taking" and job.is_update:
        earlier = earlier.where(FailedRow.is_made)
    db.session.execute(earlier)
    job.state, job.position, job.tries = state, 0, 0
    job.made = job.changed = job.known = job.failed = 0
    db.session.flush()


def end(job: LinkImport) -> None:
    """End the import before its last row. Links that were made stay."""
    job.state = "ended"
    db.session.flush()


def fail(job: LinkImport, problem: str, settings: Settings) -> None:
    """Mark an import as failed, and mail its owner. The caller has begun the write, and commits."""
    job.state, job.problem = "failed", problem
    owner = db.session.get_one(User, job.user_id)
    SecurityMail(db.session, settings).import_failed(owner, job.id, job.name, job.position)


# --- clean-up


def tidy(session: Session, data_dir: Path) -> int:
    """End abandoned imports, and remove the files and previews of ended ones. Returns how many files.

    Each machine runs it, for the files on its disk.
    """
    begin_write(session)
    forgotten = LinkImport.state.in_(("new", "checked")), LinkImport.datetime < now() - RETENTION
    session.execute(update(LinkImport).where(*forgotten).values(state="ended"))
    session.commit()
    forget_previews(session)
    with errors.attempt("stored parts"):
        files.sweep(session)
    needed = set(session.scalars(select(LinkImport.file).where(LinkImport.state.in_(UNFINISHED))))
    session.rollback()
    # a file exists before its row does
    recent = (now() - dt.timedelta(hours=1)).timestamp()
    old = [path for path in files.directory_of(data_dir).glob("*.*") if path.stat().st_mtime < recent]
    left = [path for path in old if path.name not in needed]
    for path in left:
        with errors.attempt(path.name):
            path.unlink(missing_ok=True)
    return len(left)


def forget_previews(session: Session) -> None:
    """Remove what was checked of each row, some days after an import's end. Its failed rows stay."""
    last = func.coalesce(LinkImport.last_datetime, LinkImport.datetime)
    over = LinkImport.state.not_in(UNFINISHED), last < now() - RETENTION
    old = select(PreviewRow.import_id).join(LinkImport, LinkImport.id == PreviewRow.import_id).where(*over)
    while import_id := session.scalar(old.limit(1)):
        while preview.forget(session, import_id):
            pass
