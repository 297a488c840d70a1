"""Runs of imports, in small steps, each row once even if processes are killed.

A step reads some rows, validates them, and writes links, failures and the position in one transaction.
`checking` does all of that but the links, and stores a preview. A row that raises is a failed row: where it
raises in the transaction, the rows of that step are imported again one by one.

A process may die from what it reads. Each one is counted before it begins, and each step resets the count. An
import has failed when three processes in a row die without a step.
"""

# see docs/decisions/2026-11-21-imports.md
# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import func, insert, or_, select, update
from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm.exc import ObjectDeletedError

from app.accounts.access import Access
from app.accounts.models import User, Workspace
from app.core.actor import Actor, act_as
from app.core.clock import now
from app.core.config import Settings
from app.core.database import AnySession, begin_write, is_outage, reread
from app.core.error_boundary import ErrorBoundary
from app.core.errors import Busy, Invalid
from app.core.extensions import db
from app.core.machine import machine_id
from app.i18n.messages import in_english, lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.import_export import files, preview
from app.import_export.cells import DATA_FIELDS, hide_secrets
from app.import_export.columns import conventions_of
from app.import_export.context import (
    ImportContext,
    Meaning,
    Problems,
    StoredLink,
    Target,
    find_targets,
    meaning_of,
)
from app.import_export.models import FailedRow, LinkImport
from app.import_export.preview import Checked, Outcome, Previewed
from app.import_export.readers.archive import ArchiveReader
from app.import_export.readers.reader import UnreadableTable, storable
from app.import_export.results import Claims, RowResult, failed, make, predict_results, update_each
from app.import_export.rows import ParsedRow, read_row
from app.import_export.services import MAX_ROWS, TOO_MANY, fail
from app.import_export.tables import ARCHIVE, TableRow, open_table
from app.input.parsers import Rejected

BATCH_SIZE = 200  # in a transaction: a long one would delay other writers
MAX_UPDATES = 20  # likewise: each takes as long as several new links
MAX_CHARACTERS = 4_000_000  # of the rows of a step
LEASE = dt.timedelta(seconds=120)  # for a step: other machines leave the import alone meanwhile
MAX_FAILED = 100_000
AFTER = {"checking": "checked", "taking": "done"}
MAX_PROBLEM = 1_000
MAX_CELL = 10_000  # characters that are kept of a cell
MAX_GLANCE = 100
MAX_TRIES = 3
BUSY_TRIES = 3  # to read a row's pictures; each try waits up to ten seconds
DIED = _l(
    "Waypost failed three times to read on in this file. Remove the next rows from it, or save it anew."
)
UNREADABLE_ROW = _l(
    "Waypost failed to read this row. Create the link by hand, or change the row and try again."
)
FIRST = dt.datetime.min.replace(tzinfo=dt.UTC)  # for owners without a turn so far, who come first

ReadRow = tuple[TableRow, Outcome]  # what the row asks for, or its result


class ImportSuperseded(Exception):
    """Another process has taken over this import, or its owner has ended it."""


GONE = (ImportSuperseded, NoResultFound, ObjectDeletedError)  # the latter where owner and import are deleted


def is_no_rows_fault(error: Exception) -> bool:
    """Whether the import was taken over, or the database does not answer."""
    return isinstance(error, GONE) or is_outage(error)


errors = ErrorBoundary("import rows", is_passed=is_no_rows_fault)

# --- which import a process continues, and for how long


class PendingImport(NamedTuple):
    """An unfinished import. `tries`: processes that were started for it since it last made a step."""

    id: int
    user_id: int
    tries: int


def unfinished_imports(session: AnySession, data_dir: Path) -> list[PendingImport]:
    """Unfinished imports without a process, in the order in which to continue them.

    Owners take turns: the one whose imports were continued longest ago comes first, oldest import first.
    """
    last = select(LinkImport.user_id, func.max(LinkImport.last_datetime)).group_by(LinkImport.user_id)
    turns = dict(session.execute(last).all())
    found = [one for one, has_process in unfinished(session, data_dir) if not has_process]
    return sorted(found, key=lambda one: (turns.get(one.user_id) or FIRST, one.id))


def unfinished(session: AnySession, data_dir: Path) -> list[tuple[PendingImport, bool]]:
    """Unfinished imports that no other machine runs, each with whether a process of this one does."""
    wanted = select(LinkImport.id, LinkImport.user_id, LinkImport.tries, LinkImport.file)
    here = LinkImport.who.is_(None) | (LinkImport.who == machine_id(data_dir))
    is_free = or_(here, LinkImport.lease.is_(None), LinkImport.lease <= now())
    rows = session.execute(wanted.where(LinkImport.state.in_(AFTER), is_free)).all()
    return [(PendingImport(*row[:3]), files.is_held(data_dir, row.file)) for row in rows]


def must_share(import_id: int, settings: Settings, slots: int) -> bool:
    """Whether this import should give way: all slots are taken, and an owner without a process waits for one.

    Imports from which processes have died do not count, nor do more imports of an owner who has a process.
    While fewer than `slots` processes run, a waiting import gets one anyway.
    """
    found = unfinished(db.session, settings.data_dir)
    db.session.rollback()
    running = [one.user_id for one, has_process in found if has_process or one.id == import_id]
    served = set(running)
    return len(running) >= slots and any(one.user_id not in served and not one.tries for one, _ in found)


def run(import_id: int, settings: Settings, is_over: Callable[[], bool] = lambda: False) -> None:
    """Continue an import to its end, unless another process runs it.

    `is_over`: called after each step; true leaves the rest to the next process.
    """
    job = db.session.get(LinkImport, import_id)
    if job is None or job.state not in AFTER:
        return
    with files.lock_table(settings.data_dir, job.file) as is_ours:
        if is_ours and begin_try(job, settings):
            go_on(job, settings, is_over)


def begin_try(job: LinkImport, settings: Settings) -> bool:
    """Count this process, because it may die. False: another machine runs the import, or too many processes
    have died, and it has failed."""
    begin_write(db.session)
    reread(db.session, job)
    is_leased = job.lease is not None and job.lease > now()
    if is_leased and job.who not in {None, machine_id(settings.data_dir)}:
        db.session.rollback()
        return False
    hold(job, settings)
    if job.state in AFTER and job.tries >= MAX_TRIES:
        fail(job, DIED, settings)
    job.tries, job.last_datetime = job.tries + 1, now()
    db.session.commit()
    return job.state in AFTER


def hold(job: LinkImport, settings: Settings) -> None:
    """Keep other machines away from an import, until its lease ends. The caller commits."""
    job.who, job.lease = machine_id(settings.data_dir), now() + LEASE


def release(job: LinkImport, settings: Settings) -> None:
    """Let other machines continue what this one leaves."""
    begin_write(db.session)
    mine = LinkImport.id == job.id, LinkImport.who == machine_id(settings.data_dir)
    db.session.execute(update(LinkImport).where(*mine).values(lease=None))
    db.session.commit()


def go_on(job: LinkImport, settings: Settings, is_over: Callable[[], bool] = lambda: False) -> None:
    """Run an import to its end. The caller has locked the table: two processes would keep colliding."""
    taking = begin(job, settings)
    try:
        if taking is not None:
            taking.prepare()
        while taking is not None and taking.step() and not is_over():
            pass
        release(job, settings)
    except GONE:
        db.session.rollback()
    except UnreadableTable as error:  # its file was damaged since it came
        db.session.rollback()
        stop(job, error.args[0], settings)
    finally:
        if taking is not None and taking.archive is not None:
            taking.archive.close()


def begin(job: LinkImport, settings: Settings) -> RunningImport | None:
    """Open the table of an import. Where it can't be read, the import fails, and the result is None."""
    try:
        path = files.path_of(settings.data_dir, job.file)
        files.fetch(db.session, path)
        return RunningImport(job, settings, path)
    except Invalid as error:
        said = error.errors[0].title
    except UnreadableTable as error:
        said = error.args[0]
    except (FileNotFoundError, ValueError):
        said = _l("The file is not there any more.")
    stop(job, said, settings)
    return None


def stop(job: LinkImport, said: str, settings: Settings) -> None:
    begin_write(db.session)
    fail(job, said, settings)
    db.session.commit()


# --- the steps of one process


class RunningImport:
    """One import that this process runs.

    `position` and `state` are this process's: the database may have others by now. `claims` are those of
    earlier rows, `new_claims` of this step: a check makes no links to compare with. `before`: what the check
    said of this step's rows.
    """

    def __init__(self, job: LinkImport, settings: Settings, path: Path) -> None:
        self.job, self.settings, self.table = job, settings, open_table(path)
        self.position, self.state = job.position, job.state
        self.conventions = conventions_of(self.table, job.columns, job.date_order)
        self.rows = islice(self.table.rows(), self.position, None)
        self.claims, self.new_claims = Claims(), Claims()
        self.before: dict[int, Checked] = {}
        # the ZIP that the table is in
        self.archive = ArchiveReader(path) if self.table.kind == ARCHIVE else None

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
        around = ImportContext(self.access(), self.job, self.settings, self.conventions, self.archive)
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

    def next_rows(self) -> list[TableRow]:
        """The rows of the next step.

        Few where they are long, which bounds memory. A row with pictures ends the step: it may take a minute.
        """
        fields = [*DATA_FIELDS.values(), *(DATA_FIELDS if self.archive else ())]
        pictures = [self.job.columns.get(field, "") for field in fields]
        rows, characters = [], 0
        for row in islice(self.rows, BATCH_SIZE):
            rows.append(row)
            characters += sum(map(len, row.cells.values()))
            if characters > MAX_CHARACTERS or any(row.cells.get(column) for column in pictures):
                break
        return rows

    def read(self, rows: Sequence[TableRow], around: ImportContext) -> Iterator[ReadRow]:
        """Each row with what it asks for. One whose preview says that it writes nothing is not read again."""
        settled = preview.settled(self.before) if self.job.is_update else {}
        targets = self.targets([row for row in rows if row.number not in settled and not row.problem], around)
        for row in rows:
            if row.number in settled:
                yield row, settled[row.number]
                continue
            outcome = self.outcome_of(row, around, targets.get(row.number))
            late = preview.late_problems(outcome, self.before.get(row.number)) if self.job.is_update else None
            yield row, late or outcome

    def targets(self, rows: Sequence[TableRow], around: ImportContext) -> dict[int, Target]:
        """The link that each row means, by the row's number; or the problems of a row that can't say it."""
        if not self.job.is_update:
            return {}
        meanings: dict[int, Meaning | Problems] = {}
        for row in rows:
            meanings[row.number] = [["", UNREADABLE_ROW]]
            with errors.attempt():
                try:
                    meanings[row.number] = meaning_of(row.cells, self.job.columns, around)
                except Rejected as rejected:
                    meanings[row.number] = [["id", rejected.args[0].title]]
        return find_targets(self.job.workspace_id, meanings)

    def outcome_of(self, row: TableRow, around: ImportContext, target: Target) -> Outcome:
        """What a row asks for, or all its problems. One that raises anything else is unreadable."""
        if row.problem:
            return RowResult("failed", [["", row.problem]])
        if isinstance(target, list):
            return RowResult("failed", target)
        with errors.attempt():
            try:
                return self.read_patiently(row, around, target)
            except (Invalid, Busy) as error:
                return failed(error)
        return RowResult("failed", [["", UNREADABLE_ROW]])

    def read_patiently(self, row: TableRow, around: ImportContext, target: StoredLink | None) -> ParsedRow:
        """Read a row, again while picture helpers are busy. Raises Invalid, and Busy after `BUSY_TRIES`."""
        for _ in range(BUSY_TRIES - 1):
            with suppress(Busy):
                return read_row(row.cells, self.job.columns, around, target)
        return read_row(row.cells, self.job.columns, around, target)

    def store(self, read: Sequence[ReadRow]) -> None:
        """Write the results of some rows in one transaction."""
        self.new_claims = Claims()
        begin_write(db.session)
        # the steps of a workspace's imports are serial: one table imported twice makes each link once.
        # SQLite has one writer anyway
        workspace = select(Workspace.id).where(Workspace.id == self.job.workspace_id)
        db.session.execute(workspace.with_for_update(key_share=True))
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
                unreadable = RowResult("failed", [["", UNREADABLE_ROW]])
                self.store([(row, failed(made.error) if isinstance(made.error, Invalid) else unreadable)])
            if self.job.state != self.state:
                return

    def write(self, read: Sequence[ReadRow]) -> None:
        self.advance(len(read))
        owner = db.session.get_one(User, self.job.user_id)
        actor = Actor("import", self.job.name[:128], owner.id, owner.email)
        act_as(actor._replace(workspace_id=self.job.workspace_id))
        results = self.results([outcome for _, outcome in read])
        found = [Previewed(row, one, result) for (row, one), result in zip(read, results, strict=True)]
        listed = []
        for row, one, result in found:
            setattr(self.job, result.what, getattr(self.job, result.what) + 1)
            if result.what == "failed" and not result.is_listed:
                listed.append(self.listed(row, result.problems))
            elif result.what == "made" and isinstance(one, ParsedRow) and one.notices:
                listed.append(self.listed(row, one.notices, is_made=True))
        if listed:
            db.session.connection().execute(insert(FailedRow.__table__), listed)
        if self.state == "checking":
            preview.store(self.job, found)
        else:
            preview.follow(self.job, found, self.before)
        if said := self.reason_to_stop():
            fail(self.job, said, self.settings)
        db.session.flush()

    def results(self, outcomes: Sequence[Outcome]) -> list[RowResult]:
        """The result of each row: links are made and changed, or predicted to be."""
        access = self.access()
        asked = [one for one in outcomes if isinstance(one, ParsedRow)]
        if self.state == "checking":
            predicted = predict_results(access.workspace_id, asked, self.claims, self.new_claims)
        else:
            made = iter(make(access, [one for one in asked if one.is_new]))
            changes = [one for one in asked if not one.is_new and not one.is_unchanged]
            changed = iter(update_each(access, changes))
            predicted = [
                next(made) if one.is_new else RowResult("known") if one.is_unchanged else next(changed)
                for one in asked
            ]
        found = iter(predicted)
        return [one if isinstance(one, RowResult) else next(found) for one in outcomes]

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
        updates += isinstance(each[1], ParsedRow) and not each[1].is_new
        if updates == MAX_UPDATES:
            yield part
            part, updates = [], 0
    if part or not read:
        yield part
