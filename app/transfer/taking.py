"""How do the rows of a table become links: a few at a time, each once, whatever is killed meanwhile?

A step reads some rows, checks them, and writes in one transaction what they make, what failed, and how far
it has come. `checking` does all of it but the links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm.exc import ObjectDeletedError

from app.accounts.models import User
from app.acting import Actor, act_as
from app.clock import now
from app.config import Settings
from app.database import AnySession, begin_write
from app.errors import Invalid
from app.extensions import db
from app.transfer.around import around_of
from app.transfer.files import held, is_held, path_of
from app.transfer.making import Outcome, decided, make
from app.transfer.models import FailedRow, LinkImport
from app.transfer.rows import Around, Wanted, read_row
from app.transfer.services import MOST_ROWS, TOO_MANY
from app.transfer.tables import Row, Table, Unreadable, open_table

AT_ONCE = 200  # in a transaction: others write, too
MOST_FAILED = 100_000
AFTER = {"checking": "checked", "taking": "done"}


class Overtaken(Exception):
    """Another process goes on with this import, or its owner has ended it."""


@dataclass
class Taking:
    """One import under way in this process."""

    job: LinkImport
    settings: Settings
    table: Table
    rows: Iterator[Row] = field(init=False)
    position: int = field(init=False)  # ours, whatever the database has by now
    state: str = field(init=False)
    places: set[int] = field(default_factory=set)  # that rows before had: a check makes no links

    def __post_init__(self) -> None:
        self.position, self.state = self.job.position, self.job.state
        self.rows = islice(self.table.rows(), self.position, None)

    def step(self) -> bool:
        """Take the next rows; whether there were any. Raises Overtaken."""
        rows = list(islice(self.rows, AT_ONCE))
        around = around_of(db.session.get_one(User, self.job.user_id), self.job, self.settings)
        read = [(row, outcome_of(row, self.job.columns, around)) for row in rows]
        begin_write(db.session)
        self.take_turn()
        if rows:
            self.write(read)
        else:
            self.advance(0, state=AFTER[self.state], rows=self.position)
        db.session.commit()
        self.position += len(rows)
        return bool(rows) and self.job.state == self.state

    def take_turn(self) -> None:
        """One step of an owner's imports after the other: the same table twice at once makes each link once.
        (SQLite has one writer anyway.)"""
        owner = select(User.id).where(User.id == self.job.user_id)
        db.session.execute(owner.with_for_update(key_share=True))

    def write(self, read: Sequence[tuple[Row, Wanted | list[list[str]]]]) -> None:
        self.advance(len(read))
        act_as(Actor("import", self.job.name[:128]))
        wanted = [one for _, one in read if isinstance(one, Wanted)]
        user_id, is_real = self.job.user_id, self.state == "taking"
        made = make(user_id, wanted) if is_real else decided(user_id, wanted, self.places)
        outcomes = iter(made)
        failed = []
        for row, one in read:
            outcome = next(outcomes) if isinstance(one, Wanted) else Outcome("failed", one)
            setattr(self.job, outcome.what, getattr(self.job, outcome.what) + 1)
            if outcome.what == "failed":
                failed.append((row, outcome.problems))
        self.note(failed)
        if said := self.reason_to_stop():
            self.job.state, self.job.problem = "failed", said
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
        values |= {"position": self.position + count, "last_datetime": now()}
        moved = update(LinkImport).where(*here).values(**values).returning(LinkImport.id)
        if db.session.scalar(moved, execution_options={"synchronize_session": False}) is None:
            raise Overtaken
        db.session.refresh(self.job)

    def note(self, failed: Sequence[tuple[Row, list[list[str]]]]) -> None:
        rows = [
            {
                "import_id": self.job.id,
                "number": row.number,
                "line": row.line,
                "cells": [row.cells.get(column, "")[:10_000] for column in self.table.columns],
                "problems": problems,
            }
            for row, problems in failed
        ]
        if rows:
            db.session.connection().execute(insert(FailedRow.__table__), rows)


def outcome_of(row: Row, columns: dict[str, str], around: Around) -> Wanted | list[list[str]]:
    """What a row asks for, or all that is wrong with it."""
    if row.problem:
        return [["", row.problem]]
    try:
        return read_row(row.cells, columns, around)
    except Invalid as invalid:
        return [[problem.field or "", problem.title] for problem in invalid.errors]


def begin(job: LinkImport, settings: Settings) -> Taking | None:
    """Open the table of an import; None, and said in the import, where it can't be read."""
    try:
        return Taking(job, settings, open_table(path_of(settings.data_dir, job.file)))
    except (Unreadable, OSError) as error:
        said = str(error) if isinstance(error, Unreadable) else "The file is not there any more."
        begin_write(db.session)
        job.state, job.problem = "failed", said
        db.session.commit()
        return None


def start(job: LinkImport, state: str) -> None:
    """Have the rows checked, or taken in, from the first on: what was found before is forgotten."""
    db.session.execute(delete(FailedRow).where(FailedRow.import_id == job.id))
    job.state, job.position = state, 0
    job.made = job.known = job.failed = 0
    db.session.flush()


def waiting(session: AnySession, data_dir: Path) -> list[int]:
    """Ids of imports that somebody should go on with, the oldest first, and nobody does."""
    wanted = select(LinkImport.id, LinkImport.file).where(LinkImport.state.in_(AFTER)).order_by(LinkImport.id)
    return [id_ for id_, file in session.execute(wanted) if not is_held(path_of(data_dir, file))]


def run(import_id: int, settings: Settings) -> None:
    """Go on with an import to its end, unless another process does. Called again, it goes on there."""
    job = db.session.get(LinkImport, import_id)
    if job is None or job.state not in AFTER:
        return
    with held(path_of(settings.data_dir, job.file)) as is_ours:
        if is_ours:
            go_on(job, settings)


def go_on(job: LinkImport, settings: Settings) -> None:
    """To its end. Who calls this holds the table: two at once would overtake each other again and again."""
    taking = begin(job, settings)
    try:
        while taking is not None and taking.step():
            pass
    except (Overtaken, NoResultFound, ObjectDeletedError):  # another goes on, or owner and import are gone
        db.session.rollback()
