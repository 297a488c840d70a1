"""Import of a table's rows as links, in small steps, each row once even if processes are killed.

A step reads some rows, validates them, and writes links, failures and the position in one transaction.
`checking` does all of that but the links. A row that raises is a failed row: where it raises in the
transaction, the rows of that step are imported again one by one.
"""

# see docs/decisions/2026-11-21-imports.md
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm.exc import ObjectDeletedError

from app.accounts.models import User
from app.core.actor import Actor, act_as
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write, is_outage
from app.core.error_boundary import ErrorBoundary
from app.core.errors import Busy, Invalid
from app.core.extensions import db
from app.i18n.messages import in_english, lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export import services
from app.import_export.archive_reader import ArchiveReader
from app.import_export.cell_text import storable
from app.import_export.conventions import Conventions, conventions_of
from app.import_export.link_passwords import hide_secrets
from app.import_export.lookups import around_of
from app.import_export.models import FailedRow, LinkImport
from app.import_export.row_pictures import DATA_FIELDS
from app.import_export.row_to_link import RowResult, make, predict_results
from app.import_export.rows import ImportContext, ParsedLink, read_row
from app.import_export.services import MAX_ROWS, TOO_MANY
from app.import_export.sniff import TableFormat, TableRow

BATCH_SIZE = 200  # in a transaction: a long one would delay other writers
MAX_CHARACTERS = 4_000_000  # of the rows of a step
MAX_FAILED = 100_000
AFTER = {"checking": "checked", "taking": "done"}
MAX_PROBLEM = 1_000
MAX_CELL = 10_000  # characters that are kept of a cell
MAX_GLANCE = 100
BUSY_TRIES = 3  # to read a row's pictures; each try waits up to ten seconds
UNREADABLE_ROW = _l(
    "Waypost failed to read this row. Create the link by hand, or change the row and try again."
)

ReadRow = tuple[TableRow, ParsedLink | list[list[str]]]  # the link to make, or the row's problems


class ImportSuperseded(Exception):
    """Another process has taken over this import, or its owner has ended it."""


GONE = (ImportSuperseded, NoResultFound, ObjectDeletedError)  # the latter where owner and import are deleted


def is_no_rows_fault(error: Exception) -> bool:
    """Whether the import was taken over, or the database does not answer."""
    return isinstance(error, GONE) or is_outage(error)


errors = ErrorBoundary("import rows", is_passed=is_no_rows_fault)


@dataclass
class RunningImport:
    """One import that this process runs."""

    job: LinkImport
    settings: Settings
    table: TableFormat
    archive: ArchiveReader | None = None  # the ZIP that the table came in
    conventions: Conventions = field(init=False)
    rows: Iterator[TableRow] = field(init=False)
    position: int = field(init=False)  # of this process; the database may have another by now
    state: str = field(init=False)
    # digests of aliases in earlier rows, and in this step: a check makes no links to compare with
    aliases: set[int] = field(default_factory=set)
    new_aliases: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.position, self.state = self.job.position, self.job.state
        self.conventions = conventions_of(self.table, self.job.columns, self.job.date_order)
        self.rows = islice(self.table.rows(), self.position, None)

    def step(self) -> bool:
        """Import the next rows. Returns whether to go on. Raises ImportSuperseded."""
        rows = self.next_rows()
        owner = db.session.get_one(User, self.job.user_id)
        around = around_of(owner, self.job, self.settings, self.archive)
        around = replace(around, conventions=self.conventions)
        read = [(row, outcome_of(row, self.job.columns, around)) for row in rows]
        with errors.attempt() as made:
            self.store(read)
        if made.error is not None:  # caused by one of these rows; storing each alone shows which
            self.store_each(read)
        return bool(rows) and self.job.state == self.state

    def next_rows(self) -> list[TableRow]:
        """The rows of the next step.

        Few where they are long, which bounds memory. A row with pictures ends the step: it may take a minute.
        """
        rows, characters = [], 0
        for row in islice(self.rows, BATCH_SIZE):
            rows.append(row)
            characters += sum(map(len, row.cells.values()))
            if characters > MAX_CHARACTERS or self.has_pictures(row):
                break
        return rows

    def has_pictures(self, row: TableRow) -> bool:
        fields = [*DATA_FIELDS.values(), *(DATA_FIELDS if self.archive else ())]
        return any(row.cells.get(self.job.columns.get(field, "")) for field in fields)

    def store(self, read: Sequence[ReadRow]) -> None:
        """Write the results of some rows in one transaction."""
        self.new_aliases = set()
        begin_write(db.session)
        self.take_turn()
        if read:
            self.write(read)
        else:
            self.advance(0, state=AFTER[self.state], rows=self.position)
        db.session.commit()
        self.position += len(read)
        self.aliases |= self.new_aliases

    def store_each(self, read: Sequence[ReadRow]) -> None:
        """Write each row in a transaction of its own; one that raises is a failed row."""
        for row, outcome in read:
            with errors.attempt() as made:
                self.store([(row, outcome)])
            if made.error is not None:
                self.store([(row, [["", UNREADABLE_ROW]])])
            if self.job.state != self.state:
                return

    def take_turn(self) -> None:
        """Serialise the steps of an owner's imports, so that one table imported twice makes each link once.

        SQLite has one writer anyway.
        """
        owner = select(User.id).where(User.id == self.job.user_id)
        db.session.execute(owner.with_for_update(key_share=True))

    def write(self, read: Sequence[ReadRow]) -> None:
        self.advance(len(read))
        act_as(Actor("import", self.job.name[:128]))
        wanted = [one for _, one in read if isinstance(one, ParsedLink)]
        user_id, is_real = self.job.user_id, self.state == "taking"
        colors = self.archive.colors if self.archive else {}
        made = (
            make(user_id, wanted, colors)
            if is_real
            else predict_results(user_id, wanted, self.aliases, self.new_aliases)
        )
        outcomes = iter(made)
        listed = []
        for row, one in read:
            outcome = next(outcomes) if isinstance(one, ParsedLink) else RowResult("failed", one)
            setattr(self.job, outcome.what, getattr(self.job, outcome.what) + 1)
            if outcome.what == "failed":
                listed.append(self.listed(row, outcome.problems))
            elif outcome.what == "made" and isinstance(one, ParsedLink) and one.notices:
                listed.append(self.listed(row, one.notices, is_made=True))
        if listed:
            db.session.connection().execute(insert(FailedRow.__table__), listed)
        if said := self.reason_to_stop():
            services.fail(self.job, said, self.settings)
        db.session.flush()

    def reason_to_stop(self) -> str:
        """Why the import can't go on, in words; "" where it can. A wrong table must not fill the database."""
        if self.job.failed > MAX_FAILED:
            return _l(
                "More than %(most)s rows can't be imported: are the columns right?",
                most=lazy_digits(MAX_FAILED),
            )
        return TOO_MANY if self.job.position > MAX_ROWS else ""

    def advance(self, count: int, **values: Any) -> None:
        """Compare-and-swap of the position. Raises ImportSuperseded where another process has moved it."""
        here = (
            LinkImport.id == self.job.id,
            LinkImport.position == self.position,
            LinkImport.state == self.state,
        )
        values |= {"position": self.position + count, "last_datetime": now(), "tries": 0}
        moved = update(LinkImport).where(*here).values(**values).returning(LinkImport.id)
        if db.session.scalar(moved, execution_options={"synchronize_session": False}) is None:
            raise ImportSuperseded
        db.session.refresh(self.job)

    def listed(self, row: TableRow, problems: list[list[str]], *, is_made: bool = False) -> dict[str, Any]:
        """A row of `FailedRow`. For a link that was made the cells are shortened: no file is made of them."""
        most = MAX_GLANCE if is_made else MAX_CELL
        cells = hide_secrets(row.cells, self.job.columns)
        return {
            "import_id": self.job.id,
            "number": row.number,
            "line": row.line,
            "cells": [storable(cells.get(column, "")[:most]) for column in self.table.columns],
            "problems": [[name, storable_message(text)] for name, text in problems],
            "is_made": is_made,
        }


def storable_message(text: str) -> str:
    """The message, or what can be stored of its English text: owners' values may be long, and anything."""
    english = in_english(text)
    found = storable(english[:MAX_PROBLEM])
    return text if found == english else found


def outcome_of(row: TableRow, columns: dict[str, str], around: ImportContext) -> ParsedLink | list[list[str]]:
    """The link that a row describes, or all problems of the row."""
    if row.problem:
        return [["", row.problem]]
    with errors.attempt():
        try:
            return read_patiently(row, columns, around)
        except (Invalid, Busy) as error:
            return [[problem.field or "", problem.title] for problem in error.errors]
    return [["", UNREADABLE_ROW]]


def read_patiently(row: TableRow, columns: dict[str, str], around: ImportContext) -> ParsedLink:
    """Read a row, again while picture helpers are busy. Raises Invalid, and Busy after `BUSY_TRIES`."""
    for _ in range(BUSY_TRIES - 1):
        with suppress(Busy):
            return read_row(row.cells, columns, around)
    return read_row(row.cells, columns, around)


def start(job: LinkImport, state: str) -> None:
    """Schedule the rows for checking or importing from the first one. Earlier results are deleted."""
    db.session.execute(delete(FailedRow).where(FailedRow.import_id == job.id))
    job.state, job.position, job.tries = state, 0, 0
    job.made = job.known = job.failed = 0
    db.session.flush()
