"""Reading of a row as what it asks for: a new link, the change of one, or its problems.

A row that raises anything else is unreadable, and no other row suffers from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm.exc import ObjectDeletedError

from app.core.database import is_outage
from app.core.error_boundary import ErrorBoundary
from app.core.errors import Busy, Invalid
from app.i18n.messages import lazy_gettext as _l
from app.import_export.row_changes import RowChange, read_change
from app.import_export.row_targets import Meaning, Problems, StoredLink, Target, meaning_of
from app.import_export.row_to_link import RowResult
from app.import_export.rows import ImportContext, ParsedLink, read_row
from app.import_export.sniff import TableRow
from app.input.parsers import Rejected

BUSY_TRIES = 3  # to read a row's pictures; each try waits up to ten seconds
UNREADABLE_ROW = _l(
    "Waypost failed to read this row. Create the link by hand, or change the row and try again."
)


class ImportSuperseded(Exception):
    """Another process has taken over this import, or its owner has ended it."""


GONE = (ImportSuperseded, NoResultFound, ObjectDeletedError)  # the latter where owner and import are deleted


def is_no_rows_fault(error: Exception) -> bool:
    """Whether the import was taken over, or the database does not answer."""
    return isinstance(error, GONE) or is_outage(error)


errors = ErrorBoundary("import rows", is_passed=is_no_rows_fault)


def meanings_of(
    rows: Iterable[TableRow], columns: Mapping[str, str], around: ImportContext
) -> dict[int, Meaning | Problems]:
    """Which link each row means, by the row's number; or the problems of a row that can't say it."""
    found: dict[int, Meaning | Problems] = {}
    for row in rows:
        found[row.number] = [["", UNREADABLE_ROW]]
        with errors.attempt():
            try:
                found[row.number] = meaning_of(row.cells, columns, around)
            except Rejected as rejected:
                found[row.number] = [["id", rejected.args[0].title]]
    return found


def outcome_of(
    row: TableRow, columns: dict[str, str], around: ImportContext, target: Target = None
) -> ParsedLink | RowChange | RowResult:
    """The link that a row describes, its change of the link `target`, or all problems of the row."""
    if row.problem:
        return RowResult("failed", [["", row.problem]])
    if isinstance(target, list):
        return RowResult("failed", target)
    with errors.attempt():
        try:
            return read_patiently(row, columns, around, target)
        except (Invalid, Busy) as error:
            return RowResult("failed", [[problem.field or "", problem.title] for problem in error.errors])
    return RowResult("failed", [["", UNREADABLE_ROW]])


def read_patiently(
    row: TableRow, columns: dict[str, str], around: ImportContext, target: StoredLink | None
) -> ParsedLink | RowChange:
    """Read a row, again while picture helpers are busy. Raises Invalid, and Busy after `BUSY_TRIES`."""
    for _ in range(BUSY_TRIES - 1):
        with suppress(Busy):
            return read_once(row, columns, around, target)
    return read_once(row, columns, around, target)


def read_once(
    row: TableRow, columns: dict[str, str], around: ImportContext, target: StoredLink | None
) -> ParsedLink | RowChange:
    if target is not None:
        return read_change(target, row.cells, columns, around)
    return read_row(row.cells, columns, around)
