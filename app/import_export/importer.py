"""Import of a table's rows as links, in small steps, each row once even if processes are killed.

A step reads some rows, validates them, and writes links, failures and the position in one transaction.
`checking` does all of that but the links, and stores a preview. A row that raises is a failed row: where it
raises in the transaction, the rows of that step are imported again one by one.
"""

# see docs/decisions/2026-11-21-imports.md
# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from sqlalchemy import delete, insert, select, update

from app.accounts.access import Access
from app.accounts.models import User, Workspace
from app.core.actor import Actor, act_as
from app.core.clock import now
from app.core.config import Settings
from app.core.database import begin_write
from app.core.errors import Invalid
from app.core.extensions import db
from app.i18n.messages import in_english, lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export import preview, services
from app.import_export.archive_reader import ArchiveReader
from app.import_export.cell_text import storable
from app.import_export.conventions import Conventions, conventions_of
from app.import_export.link_passwords import hide_secrets
from app.import_export.lookups import around_of
from app.import_export.models import FailedRow, LinkImport
from app.import_export.preview import Checked, Outcome, Previewed
from app.import_export.row_changes import RowChange
from app.import_export.row_pictures import DATA_FIELDS
from app.import_export.row_reading import GONE as GONE
from app.import_export.row_reading import UNREADABLE_ROW, errors, meanings_of, outcome_of
from app.import_export.row_reading import ImportSuperseded as ImportSuperseded
from app.import_export.row_targets import find_targets
from app.import_export.row_to_link import Claims, RowResult, make, predict_results
from app.import_export.row_updates import update_each
from app.import_export.rows import ImportContext, ParsedLink
from app.import_export.services import MAX_ROWS, TOO_MANY
from app.import_export.sniff import TableFormat, TableRow

BATCH_SIZE = 200  # in a transaction: a long one would delay other writers
MAX_UPDATES = 20  # likewise: each takes as long as several new links
MAX_CHARACTERS = 4_000_000  # of the rows of a step
LEASE = dt.timedelta(seconds=120)  # for a step: other machines leave the import alone meanwhile
MAX_FAILED = 100_000
AFTER = {"checking": "checked", "taking": "done"}
MAX_PROBLEM = 1_000
MAX_CELL = 10_000  # characters that are kept of a cell
MAX_GLANCE = 100

ReadRow = tuple[TableRow, Outcome]  # the link to make, the change of one, or the row's result


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
    # of earlier rows, and of this step: a check makes no links to compare with
    claims: Claims = field(default_factory=Claims)
    new_claims: Claims = field(default_factory=Claims)
    before: dict[int, Checked] = field(default_factory=dict)  # what the check said of this step's rows

    def __post_init__(self) -> None:
        self.position, self.state = self.job.position, self.job.state
        self.conventions = conventions_of(self.table, self.job.columns, self.job.date_order)
        self.rows = islice(self.table.rows(), self.position, None)

    def prepare(self) -> None:
        """Remove the preview of an earlier check, or read on where another process has stopped."""
        if self.state == "checking" and not self.position:
            while preview.forget(db.session, self.job.id):
                pass
        elif self.state == "checking":
            self.claims = preview.claims_of(self.job)

    def step(self) -> bool:
        """Import the next rows. Returns whether to go on. Raises ImportSuperseded."""
        rows = self.next_rows()
        around = around_of(self.access(), self.job, self.settings, self.archive)
        around = replace(around, conventions=self.conventions)
        self.before = preview.of_rows(self.job, rows) if self.state == "taking" else {}
        read = list(self.read(rows, around))
        for part in parts(read) if self.state == "taking" else [read]:
            with errors.attempt() as made:
                self.store(part)
            if made.error is not None:  # caused by one of these rows; storing each alone shows which
                self.store_each(part)
            if self.job.state != self.state:
                break
        return bool(rows) and self.job.state == self.state

    def read(self, rows: Sequence[TableRow], around: ImportContext) -> Iterator[ReadRow]:
        """Each row with what it asks for. One whose preview says that it writes nothing is not read again."""
        settled = preview.settled(self.before) if self.job.is_update else {}
        left = [row for row in rows if row.number not in settled and not row.problem]
        meanings = meanings_of(left, self.job.columns, around) if self.job.is_update else {}
        targets = find_targets(self.job.workspace_id, meanings)
        for row in rows:
            if row.number in settled:
                yield row, settled[row.number]
                continue
            outcome = outcome_of(row, self.job.columns, around, targets.get(row.number))
            late = preview.late_problems(outcome, self.before.get(row.number)) if self.job.is_update else None
            yield row, late or outcome

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
        self.new_claims = Claims()
        begin_write(db.session)
        self.take_turn()
        if read:
            self.write(read)
        else:
            self.advance(0, state=AFTER[self.state], rows=self.position)
        db.session.commit()
        self.position += len(read)
        self.claims.add(self.new_claims)

    def store_each(self, read: Sequence[ReadRow]) -> None:
        """Write each row in a transaction of its own; one that raises is a failed row."""
        for row, outcome in read:
            with errors.attempt() as made:
                self.store([(row, outcome)])
            if made.error is not None:
                said = made.error.errors if isinstance(made.error, Invalid) else ()
                problems = [[one.field or "", one.title] for one in said] or [["", UNREADABLE_ROW]]
                self.store([(row, RowResult("failed", problems))])
            if self.job.state != self.state:
                return

    def take_turn(self) -> None:
        """Serialise the steps of a workspace's imports: one table imported twice makes each link once.

        SQLite has one writer anyway.
        """
        workspace = select(Workspace.id).where(Workspace.id == self.job.workspace_id)
        db.session.execute(workspace.with_for_update(key_share=True))

    def write(self, read: Sequence[ReadRow]) -> None:
        self.advance(len(read))
        owner = db.session.get_one(User, self.job.user_id)
        actor = Actor("import", self.job.name[:128], owner.id, owner.email)
        act_as(actor._replace(workspace_id=self.job.workspace_id))
        found = [
            Previewed(row, one, result)
            for (row, one), result in zip(read, self.results([one for _, one in read]), strict=True)
        ]
        listed = []
        for row, one, result in found:
            setattr(self.job, result.what, getattr(self.job, result.what) + 1)
            if result.what == "failed" and not result.is_listed:
                listed.append(self.listed(row, result.problems))
            elif result.what == "made" and isinstance(one, ParsedLink) and one.notices:
                listed.append(self.listed(row, one.notices, is_made=True))
        if listed:
            db.session.connection().execute(insert(FailedRow.__table__), listed)
        if self.state == "checking":
            preview.store(self.job, found)
        else:
            preview.follow(self.job, found, self.before)
        if said := self.reason_to_stop():
            services.fail(self.job, said, self.settings)
        db.session.flush()

    def results(self, outcomes: Sequence[Outcome]) -> list[RowResult]:
        """The result of each row: links are made and changed, or predicted to be."""
        access = self.access()
        if self.state == "checking":
            wanted = [one for one in outcomes if not isinstance(one, RowResult)]
            predicted = iter(predict_results(access.workspace_id, wanted, self.claims, self.new_claims))
            return [one if isinstance(one, RowResult) else next(predicted) for one in outcomes]
        colors = self.archive.colors if self.archive else {}
        made = iter(make(access, [one for one in outcomes if isinstance(one, ParsedLink)], colors))
        changes = [one for one in outcomes if isinstance(one, RowChange) and not one.is_unchanged]
        changed = iter(update_each(access, changes, colors))
        return [
            one
            if isinstance(one, RowResult)
            else next(made)
            if isinstance(one, ParsedLink)
            else RowResult("known")
            if one.is_unchanged
            else next(changed)
            for one in outcomes
        ]

    def access(self) -> Access:
        """That of whoever began the import, who could write then."""
        return Access(db.session.get_one(User, self.job.user_id), self.job.workspace_id, "editor")

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
        values["lease"] = now() + LEASE
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


def parts(read: Sequence[ReadRow]) -> Iterator[Sequence[ReadRow]]:
    """The rows of a step in parts of a transaction each: with few links to change in one."""
    part: list[ReadRow] = []
    updates = 0
    for each in read:
        part.append(each)
        updates += isinstance(each[1], RowChange)
        if updates == MAX_UPDATES:
            yield part
            part, updates = [], 0
    if part or not read:
        yield part


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
