"""Copies all rows from one database to the other, range by range of keys.

While the service runs, every table is copied once. Rows may change behind the copy, so what is there is
compared once the source takes no changes: each range that differs is copied again. Every range is read back
from the target before its transaction commits. Rows of single clicks never change, so those that were copied
are only read again if some were removed meanwhile.
"""

# see docs/decisions/2026-11-25-moving-to-another-database.md
from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from app.analytics.interning_state import REMOVED_ROWS, read_count
from app.operations.database_copy.progress import PENDING, CopyProgress, Range
from app.operations.database_copy.store import CopyStore, Digest, RangeContent, RowsRefused
from app.operations.database_copy.tables import CopiedTable, Key, Row, replace_unstorable

MAX_PROBLEMS = 50
UNSTORABLE = "a NUL, or no valid UTF-8"
ROWS_A_SECOND = 100_000  # read and compared, where nothing was measured


class CopyProblem(NamedTuple):
    """A row that can't be copied as it is, and why."""

    row: str
    reason: str


class TableReport(NamedTuple):
    """A table that was compared: rows on both sides, and a digest of all of them."""

    name: str
    rows: int
    digest: str


class Differs(Exception):
    """The target does not hold what was written to it, or the source changes all the time."""


class DatabaseCopy:
    """A copy from `source` to `target`. `note` is told of progress: a table's name and its rows so far."""

    def __init__(
        self, source: CopyStore, target: CopyStore, note: Callable[[str, int], None], *, replaces: bool
    ) -> None:
        self.source, self.target = source, target
        self.progress = CopyProgress(target)
        self.note, self.replaces = note, replaces
        self.problems: dict[str, CopyProblem] = {}
        self.replaced: dict[str, CopyProblem] = {}
        self.copied_again = 0  # rows, after the source became read-only
        self._read_rows, self._read_seconds = 0, 0.0

    # --- while the service runs

    def copy_all(self) -> None:
        """Copies what is not there yet. Rows that can't be copied are in `problems` then."""
        removals = self._count_removals()  # before what it stands for is read
        for table in self.source.tables:
            if table.is_never_changed and self.progress.removals() != removals:
                self._empty_changed(table)
                self.progress.note_removals(removals)
            for each in self.progress.ranges(table):
                if each.content == PENDING:
                    self._fill(table, each, is_live=True)
            self._copy_rest(table, is_live=True)

    def estimate_seconds(self) -> float:
        """How long the source will be read-only, roughly."""
        rate = self._read_rows / self._read_seconds if self._read_rows else ROWS_A_SECOND
        rows = sum(
            each.content.rows
            for table in self.source.tables
            if not self._is_unchanged(table)
            for each in self.progress.ranges(table)
        )
        return 1 + rows / rate

    # --- once the source takes no changes

    def settle(self) -> list[TableReport]:
        """Copies all that has changed since, and compares. Raises RowsRefused and Differs."""
        for table in self.source.tables:
            changed = self._empty_changed(table)
            for each in changed:
                self._fill(table, each, is_live=False)
            self._copy_rest(table, is_live=False)
        if self.problems:
            return []
        self.target.set_last_ids(self.source.last_ids())
        self.target.finish_target()
        return [self._compare(table) for table in self.source.tables]

    def _empty_changed(self, table: CopiedTable) -> list[Range]:
        """Empties the ranges that differ from the source by now, and returns them.

        All are emptied before any is filled: a unique value may have moved from one range to another.
        """
        if self._is_unchanged(table):
            return []
        changed = []
        for each in self.progress.ranges(table):
            if each.content == PENDING or self._content(table, each) != each.content:
                changed.append(each)
                with self.target.transaction():
                    self.target.delete(self._of_target(table), each.after, each.upto)
                    self.progress.note(table, each.number, each.upto, PENDING)
        return changed

    def _is_unchanged(self, table: CopiedTable) -> bool:
        """Whether what was copied of the table is known to be as it was."""
        return table.is_never_changed and self.progress.removals() == self._count_removals()

    def _count_removals(self) -> int:
        return read_count(self.source.connection, REMOVED_ROWS)

    def _content(self, table: CopiedTable, each: Range) -> RangeContent:
        return self.source.content(table, each.after, each.upto, cleaned=True)

    def _compare(self, table: CopiedTable) -> TableReport:
        ranges = self.progress.ranges(table)
        rows = sum(each.content.rows for each in ranges)
        counts = self.source.count(table), self.target.count(self._of_target(table))
        if counts != (rows, rows) or any(each.content == PENDING for each in ranges):
            raise Differs(
                f"{table.name}: {counts[0]:,} rows in the source, {counts[1]:,} in the target,"
                f" {rows:,} copied"
            )
        digests = "".join(each.content.digest for each in ranges)
        return TableReport(table.name, rows, hashlib.blake2b(digests.encode(), digest_size=8).hexdigest())

    # --- ranges

    def _copy_rest(self, table: CopiedTable, *, is_live: bool) -> None:
        """Copies the rows after the last range, each batch as a range of its own."""
        known = self.progress.ranges(table)
        after, number = (known[-1].upto, known[-1].number + 1) if known else (None, 0)
        rows = sum(each.content.rows for each in known)
        self.note(table.name, rows)
        while page := self._read(table, after):
            upto = table.key_of(page[-1])
            self._write(table, Range(number, after, upto, PENDING), [page], is_live=is_live)
            after, number, rows = upto, number + 1, rows + len(page)
            self.note(table.name, rows)

    def _read(self, table: CopiedTable, after: Key | None) -> list[Row]:
        began = time.monotonic()
        page = self.source.read(table, after)
        self._read_seconds += time.monotonic() - began
        self._read_rows += len(page)
        return page

    def _fill(self, table: CopiedTable, each: Range, *, is_live: bool) -> None:
        """Copies a range that is empty in the target."""
        self._write(table, each, self.source.pages(table, each.after, each.upto), is_live=is_live)

    def _write(
        self, table: CopiedTable, each: Range, pages: Iterable[Sequence[Row]], *, is_live: bool
    ) -> None:
        """Writes a range. What can't be copied leaves it empty, to be tried again."""
        page: Sequence[Row] = ()

        def remembered() -> Iterator[Sequence[Row]]:
            nonlocal page
            for each_page in pages:
                page = each_page
                yield each_page

        try:
            content = self._write_whole(table, each, remembered())
            self.copied_again += 0 if is_live else content.rows
        except RowsRefused as refused:
            # live, the row with the same value may be an old one, which is copied again later
            if refused.reason != UNSTORABLE and not (is_live and refused.is_taken):
                self._find_problems(table, page)
            with self.target.transaction():
                self.progress.note(table, each.number, each.upto, PENDING)

    def _write_whole(self, table: CopiedTable, each: Range, pages: Iterable[Sequence[Row]]) -> RangeContent:
        """Writes a range and reads it back, in one transaction with its progress. Raises RowsRefused."""
        digest, theirs = Digest(table), self._of_target(table)
        with self.target.transaction():
            for page in pages:
                rows = self._storable(table, page)
                self.target.insert(theirs, rows)
                digest.add(rows)
            content = digest.content()
            require_equal(table, content, self.target.content(theirs, each.after, each.upto))
            self.progress.note(table, each.number, each.upto, content)
        return content

    def _storable(self, table: CopiedTable, rows: Sequence[Row]) -> list[Row]:
        """The rows, unstorable texts replaced. Raises RowsRefused where they may not be replaced."""
        found, is_clean = [], True
        for row in rows:
            clean, columns = replace_unstorable(table, row)
            if columns:
                name = table.describe_row(row)
                problem = CopyProblem(name, f"{', '.join(columns)}: {UNSTORABLE}")
                self._note_problem(self.replaced if self.replaces else self.problems, problem)
                is_clean = self.replaces
            found.append(clean)
        if not is_clean:
            raise RowsRefused(UNSTORABLE)
        return found

    def _note_problem(self, problems: dict[str, CopyProblem], problem: CopyProblem) -> None:
        if len(problems) < MAX_PROBLEMS:
            problems[problem.row] = problem

    def _find_problems(self, table: CopiedTable, page: Sequence[Row]) -> None:
        rows = [replace_unstorable(table, row)[0] for row in page]
        for row, reason in self.target.find_refused(self._of_target(table), rows):
            self._note_problem(self.problems, CopyProblem(table.describe_row(row), reason))

    def _of_target(self, table: CopiedTable) -> CopiedTable:
        return self.target.table(table.name)


def require_equal(table: CopiedTable, written: RangeContent, read: RangeContent) -> None:
    if written != read:
        raise Differs(f"{table.name} reads back in another way than it was written")
