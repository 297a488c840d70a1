"""Progress of a copy, kept in the target: which ranges of keys are there, and what they hold.

A range's row is written in the transaction that writes its rows, so a killed copy goes on from there. It is
in the same schema as the table, because SQLite's two files have no common transaction.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, Text, inspect, select
from sqlalchemy.schema import CreateTable

from app.analytics.offsets import insert_into
from app.core.database import CLICKS
from app.operations.database_copy.store import CopyStore, RangeContent
from app.operations.database_copy.tables import CopiedTable, Key

NAME = "waypost_copy"
SOURCE, PREPARED, REMOVALS = "source", "prepared", "removals"  # rows that stand for no table
PENDING = RangeContent(0, "")  # of a range that is still to be copied


def progress_table(schema: str | None) -> Table:
    return Table(
        NAME,
        MetaData(),
        Column("table_name", String(80), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("upper", Text),
        Column("row_count", BigInteger, nullable=False),
        Column("digest", String(64), nullable=False),
        schema=schema,
    )


TABLES = {schema: progress_table(schema) for schema in (CLICKS, None)}


class Range(NamedTuple):
    """A range of keys that was copied: after `after` (None: from the first on), up to `upto`."""

    number: int
    after: Key | None
    upto: Key
    content: RangeContent


class CopyProgress:
    """The ranges of all tables, and from which database they come."""

    def __init__(self, target: CopyStore) -> None:
        self.target = target

    def exists(self) -> bool:
        looked = inspect(self.target.connection)
        return looked.has_table(NAME) or (
            CLICKS in looked.get_schema_names() and looked.has_table(NAME, schema=CLICKS)
        )

    def create(self, source: str) -> None:
        """Marks the target as that of this copy, before anything else is made in it."""
        with self.target.transaction() as connection:
            if self.target.is_postgresql:
                connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {CLICKS}")
            for table in TABLES.values():  # that of clicks first: main's says that both are there
                connection.execute(CreateTable(table, if_not_exists=True))
            self._set(None, SOURCE, 0, source, PENDING)

    def source(self) -> str | None:
        """From which database the target is copied; None where that is not known yet."""
        if not inspect(self.target.connection).has_table(NAME):
            return None
        return self._upper(SOURCE, None)

    def forget(self) -> None:
        """Removes the progress: the copy is complete."""
        with self.target.transaction() as connection:
            for schema in (None, CLICKS):
                TABLES[schema].drop(connection, checkfirst=True)

    def is_prepared(self) -> bool:
        """Whether the target's tables are there, and ready to be filled."""
        return self._upper(PREPARED, None) is not None

    def note_prepared(self) -> None:
        with self.target.transaction():
            self._set(None, PREPARED, 0, "", PENDING)

    def removals(self) -> int | None:
        """How often clicks had been removed in the source before the first of them were copied."""
        found = self._upper(REMOVALS, CLICKS)
        return None if found is None else int(found)

    def note_removals(self, count: int) -> None:
        with self.target.transaction():
            self._set(CLICKS, REMOVALS, 0, str(count), PENDING)

    def ranges(self, table: CopiedTable) -> list[Range]:
        rows = TABLES[table.schema]
        wanted = select(rows).where(rows.c.table_name == table.name).order_by(rows.c.number)
        found: list[Range] = []
        for row in self.target.connection.execute(wanted):
            after = found[-1].upto if found else None
            content = RangeContent(row.row_count, row.digest)
            found.append(Range(row.number, after, table.load_key(row.upper), content))
        return found

    def note(self, table: CopiedTable, number: int, upto: Key, content: RangeContent) -> None:
        """Notes what a range holds, in the transaction that is open."""
        self._set(table.schema, table.name, number, table.dump_key(upto), content)

    def _set(self, schema: str | None, name: str, number: int, upper: str, content: RangeContent) -> None:
        table = TABLES[schema]
        row: dict[str, Any] = {"upper": upper, "row_count": content.rows, "digest": content.digest}
        insert = insert_into(self.target.connection, table).values(table_name=name, number=number, **row)
        self.target.connection.execute(
            insert.on_conflict_do_update(index_elements=["table_name", "number"], set_=row)
        )

    def _upper(self, name: str, schema: str | None) -> str | None:
        table = TABLES[schema]
        return self.target.connection.scalar(select(table.c.upper).where(table.c.table_name == name))


def describe_source(database: str, revisions: set[str]) -> str:
    """What a copy must find again to go on: the same source, with tables of the same version."""
    return json.dumps({"database": database, "revisions": sorted(revisions)})
