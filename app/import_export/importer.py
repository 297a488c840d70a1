"""How do the rows of a table become links: a few at a time, each once, whatever is killed meanwhile?

A step reads some rows, checks them, and writes in one transaction what they make, what failed, and how far
it has come. `checking` does all of it but the links. A row that raises is a failed row: where it raises in
the transaction, the rows of that step are taken again one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm.exc import ObjectDeletedError

from app.accounts.models import User
from app.acting import Actor, act_as
from app.clock import now
from app.config import Settings
from app.database import begin_write, is_outage
from app.error_boundary import ErrorBoundary
from app.errors import Invalid
from app.extensions import db
from app.transfer import services
from app.transfer.around import around_of
from app.transfer.cells import storable
from app.transfer.making import Outcome, decided, make
from app.transfer.models import FailedRow, LinkImport
from app.transfer.rows import Around, Wanted, read_row
from app.transfer.services import MOST_ROWS, TOO_MANY
from app.transfer.tables import Row, Table

AT_ONCE = 200  # in a transaction: others write, too
MAX_CHARACTERS = 4_000_000  # of the rows of a step
MOST_FAILED = 100_000
AFTER = {"checking": "checked", "taking": "done"}
MAX_PROBLEM = 1_000
MAX_CELL = 10_000  # characters that are kept of a cell
MAX_GLANCE = 100
UNREADABLE_ROW = "Waypost failed to read this row. Make it by hand, or change it and try again."

ReadRow = tuple[Row, Wanted | list[list[str]]]  # what it asks for, or what is wrong with it


class Overtaken(Exception):
    """Another process goes on with this import, or its owner has ended it."""


GONE = (Overtaken, NoResultFound, ObjectDeletedError)  # also where owner and import are gone


def is_no_rows_fault(error: Exception) -> bool:
    """Whether the import is another's, or the database gives no answer."""
    return isinstance(error, GONE) or is_outage(error)


errors = ErrorBoundary("import rows", is_passed=is_no_rows_fault)


@dataclass
class Taking:
    """One import under way in this process."""

    job: LinkImport
    settings: Settings
    table: Table
    rows: Iterator[Row] = field(init=False)
    position: int = field(init=False)  # ours, whatever the database has by now
    state: str = field(init=False)
    # addresses that rows before had, and those of this step: a check makes no links
    places: set[int] = field(default_factory=set)
    new_places: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.position, self.state = self.job.position, self.job.state
        self.rows = islice(self.table.rows(), self.position, None)

    def step(self) -> bool:
        """Take the next rows; whether there were any. Raises Overtaken."""
        rows = self.next_rows()
        around = around_of(db.session.get_one(User, self.job.user_id), self.job, self.settings)
        read = [(row, outcome_of(row, self.job.columns, around)) for row in rows]
        with errors.attempt() as made:
            self.store(read)
        if made.error is not None:  # one of these rows: which one shows when each is taken alone
            self.store_each(read)
        return bool(rows) and self.job.state == self.state

    def next_rows(self) -> list[Row]:
        """Some more; few where they are long, so that memory stays flat."""
        rows, characters = [], 0
        for row in islice(self.rows, AT_ONCE):
            rows.append(row)
            characters += sum(map(len, row.cells.values()))
            if characters > MAX_CHARACTERS:
                break
        return rows

    def store(self, read: Sequence[ReadRow]) -> None:
        """Write what some rows make, all or nothing."""
        self.new_places = set()
        begin_write(db.session)
        self.take_turn()
        if read:
            self.write(read)
        else:
            self.advance(0, state=AFTER[self.state], rows=self.position)
        db.session.commit()
        self.position += len(read)
        self.places |= self.new_places

    def store_each(self, read: Sequence[ReadRow]) -> None:
        """Each row in a transaction of its own; one that raises is a failed row."""
        for row, outcome in read:
            with errors.attempt() as made:
                self.store([(row, outcome)])
            if made.error is not None:
                self.store([(row, [["", UNREADABLE_ROW]])])
            if self.job.state != self.state:
                return

    def take_turn(self) -> None:
        """One step of an owner's imports after the other: the same table twice at once makes each link once.
        (SQLite has one writer anyway.)"""
        owner = select(User.id).where(User.id == self.job.user_id)
        db.session.execute(owner.with_for_update(key_share=True))

    def write(self, read: Sequence[ReadRow]) -> None:
        self.advance(len(read))
        act_as(Actor("import", self.job.name[:128]))
        wanted = [one for _, one in read if isinstance(one, Wanted)]
        user_id, is_real = self.job.user_id, self.state == "taking"
        made = make(user_id, wanted) if is_real else decided(user_id, wanted, self.places, self.new_places)
        outcomes = iter(made)
        listed = []
        for row, one in read:
            outcome = next(outcomes) if isinstance(one, Wanted) else Outcome("failed", one)
            setattr(self.job, outcome.what, getattr(self.job, outcome.what) + 1)
            if outcome.what == "failed":
                listed.append(self.listed(row, outcome.problems))
            elif outcome.what == "made" and isinstance(one, Wanted) and one.notices:
                listed.append(self.listed(row, one.notices, is_made=True))
        if listed:
            db.session.connection().execute(insert(FailedRow.__table__), listed)
        if said := self.reason_to_stop():
            services.fail(self.job, said, self.settings)
        db.session.flush()

    def reason_to_stop(self) -> str:
        """A table that is none of ours must fill neither memory nor the database."""
        if self.job.failed > MOST_FAILED:
            return f"More than {MOST_FAILED:,} rows can't be made: are the columns right?"
        return TOO_MANY if self.job.position > MOST_ROWS else ""

    def advance(self, count: int, **values: Any) -> None:
        """Compare-and-swap of the position: whoever loses has read rows that are behind already."""
        here = (
            LinkImport.id == self.job.id,
            LinkImport.position == self.position,
            LinkImport.state == self.state,
        )
        values |= {"position": self.position + count, "last_datetime": now(), "tries": 0}
        moved = update(LinkImport).where(*here).values(**values).returning(LinkImport.id)
        if db.session.scalar(moved, execution_options={"synchronize_session": False}) is None:
            raise Overtaken
        db.session.refresh(self.job)

    def listed(self, row: Row, problems: list[list[str]], *, is_made: bool = False) -> dict[str, Any]:
        """A row of `FailedRow`. Of a link that is made a glance is kept: no file of it is written."""
        most = MAX_GLANCE if is_made else MAX_CELL
        return {
            "import_id": self.job.id,
            "number": row.number,
            "line": row.line,
            "cells": [storable(row.cells.get(column, "")[:most]) for column in self.table.columns],
            "problems": [[name, storable(text[:MAX_PROBLEM])] for name, text in problems],
            "is_made": is_made,
        }


def outcome_of(row: Row, columns: dict[str, str], around: Around) -> Wanted | list[list[str]]:
    """What a row asks for, or all that is wrong with it."""
    if row.problem:
        return [["", row.problem]]
    with errors.attempt():
        try:
            return read_row(row.cells, columns, around)
        except Invalid as invalid:
            return [[problem.field or "", problem.title] for problem in invalid.errors]
    return [["", UNREADABLE_ROW]]


def start(job: LinkImport, state: str) -> None:
    """Have the rows checked, or taken in, from the first on: what was found before is forgotten."""
    db.session.execute(delete(FailedRow).where(FailedRow.import_id == job.id))
    job.state, job.position, job.tries = state, 0, 0
    job.made = job.known = job.failed = 0
    db.session.flush()
