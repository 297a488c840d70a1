"""The two databases of a copy: what source and target have in common on SQLite and on PostgreSQL."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy import ColumnElement, Engine, delete, func, inspect, select, text, tuple_
from sqlalchemy.engine import Connection

from app.operations.database_copy.tables import (
    CopiedTable,
    Key,
    Row,
    canonical,
    copied_tables,
    replace_unstorable,
)


class RowsRefused(Exception):
    """The target does not take these rows. `is_taken`: a unique value of theirs is in another row."""

    def __init__(self, reason: str, *, is_taken: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.is_taken = reason, is_taken


class RangeContent(NamedTuple):
    """What a range of a table holds: the number of rows, and a digest of them in their order."""

    rows: int
    digest: str


class Digest:
    """The digest of rows that are given in the order of their keys."""

    def __init__(self, table: CopiedTable) -> None:
        self._table, self._rows = table, 0
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, rows: Sequence[Row]) -> None:
        self._rows += len(rows)
        for row in rows:
            shown = canonical(self._table, row) if self._table.json_places else row
            self._hash.update(repr(shown).encode("utf-8", "surrogatepass"))

    def content(self) -> RangeContent:
        return RangeContent(self._rows, self._hash.hexdigest())


class CopyStore:
    """A database that is read from or copied to. One connection; ranges of keys are (after, upto]."""

    is_postgresql: bool

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.tables = copied_tables(is_postgresql=self.is_postgresql)
        self.connection: Connection = engine.connect()

    def close(self) -> None:
        self.connection.close()
        self.engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction, which writes."""
        self.connection.rollback()
        with self.connection.begin():
            yield self.connection

    def release(self) -> None:
        """Ends the transaction that reading has begun, so that other connections can write."""
        self.connection.rollback()

    def table(self, name: str) -> CopiedTable:
        return next(table for table in self.tables if table.name == name)

    def revisions(self) -> set[str]:
        """The versions of the migrations; none where no migration has run."""
        if not inspect(self.connection).has_table("alembic_version"):
            return set()
        return set(self.connection.scalars(text("SELECT version_num FROM alembic_version")))

    # --- reading

    def read(self, table: CopiedTable, after: Key | None, upto: Key | None = None) -> list[Row]:
        """The next rows in the order of their keys, as many as may be in memory."""
        wanted = select(*table.selected).where(*within(table, after, upto)).order_by(*table.ordered_key)
        return [tuple(row) for row in self.connection.execute(wanted.limit(table.batch_rows))]

    def pages(self, table: CopiedTable, after: Key | None, upto: Key | None = None) -> Iterator[list[Row]]:
        while rows := self.read(table, after, upto):
            yield rows
            if len(rows) < table.batch_rows:
                return
            after = table.key_of(rows[-1])

    def content(
        self, table: CopiedTable, after: Key | None, upto: Key | None, *, cleaned: bool = False
    ) -> RangeContent:
        """The content of a range. `cleaned`: with replacements for what can't be stored."""
        digest = Digest(table)
        for rows in self.pages(table, after, upto):
            digest.add([replace_unstorable(table, row)[0] for row in rows] if cleaned else rows)
        return digest.content()

    def count(self, table: CopiedTable) -> int:
        return self.connection.scalar(select(func.count()).select_from(table.table)) or 0

    # --- writing

    def insert(self, table: CopiedTable, rows: Sequence[Row]) -> None:
        """Inserts rows in the transaction that is open. Raises RowsRefused; the transaction is lost then."""
        raise NotImplementedError

    def delete(self, table: CopiedTable, after: Key | None, upto: Key | None) -> None:
        self.connection.execute(delete(table.table).where(*within(table, after, upto)))

    def find_refused(self, table: CopiedTable, rows: Sequence[Row]) -> Iterator[tuple[Row, str]]:
        """The rows that the target does not take, and why. Leaves nothing behind."""
        reason = self._try(table, rows)
        if reason is None:
            return
        if len(rows) == 1:
            yield rows[0], reason
            return
        half = len(rows) // 2
        found = [*self.find_refused(table, rows[:half]), *self.find_refused(table, rows[half:])]
        yield from found or [(rows[0], reason)]

    def _try(self, table: CopiedTable, rows: Sequence[Row]) -> str | None:
        self.connection.rollback()
        transaction = self.connection.begin()
        try:
            self.insert(table, rows)
        except RowsRefused as refused:
            return refused.reason
        finally:
            transaction.rollback()
        return None

    # --- what depends on the kind of database

    def list_tables(self) -> set[str]:
        """The names of all tables, those of clicks with their schema. Partitions are not listed."""
        raise NotImplementedError

    def prepare_source(self) -> None:
        """Makes what reading in the order of keys needs."""

    def prepare_target(self) -> None:
        """Puts aside what can only be checked once all rows are there: foreign keys."""

    def finish_target(self) -> None:
        """Brings that back. Raises RowsRefused where rows refer to missing ones."""

    def drop_aids(self) -> None:
        """Removes what the copy has made in this database beside its progress."""

    def last_ids(self) -> dict[str, int]:
        """The last id given, by table, for tables in which none is given twice."""
        raise NotImplementedError

    def set_last_ids(self, ids: Mapping[str, int]) -> None:
        raise NotImplementedError

    def refuse_changes(self) -> None:
        """Has every table refuse changes, whoever makes them. Waits for those under way."""
        raise NotImplementedError

    def allow_changes(self) -> None:
        raise NotImplementedError


def within(table: CopiedTable, after: Key | None, upto: Key | None) -> list[ColumnElement[bool]]:
    """Conditions of a range of keys. Bounds of the first column alone help databases to find it."""
    key, found = table.ordered_key, []
    if len(key) == 1:
        return [
            *([key[0] > after[0]] if after is not None else []),
            *([key[0] <= upto[0]] if upto is not None else []),
        ]
    if after is not None:
        found += [tuple_(*key) > after, key[0] >= after[0]]
    if upto is not None:
        found += [tuple_(*key) <= upto, key[0] <= upto[0]]
    return found
