"""PostgreSQL as source or target of a copy."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from sqlalchemy import NullPool, String, create_engine, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from app.analytics import partitions
from app.core.database import CLICKS
from app.core.patience import COMMANDS, SOCKET
from app.core.postgresql import psycopg
from app.core.write_stop import REFUSAL
from app.operations.database_copy.store import CopyStore, RowsRefused
from app.operations.database_copy.tables import CopiedTable, Row

log = logging.getLogger(__name__)

AIDS = "waypost_copy_aid"  # foreign keys that were put aside, and the prefix of the names of indexes
STOP = "waypost_write_stop"
LOCK_SECONDS = 30
CLICK_ROWS = f"{CLICKS}.click"  # which lie in a partition for each month
SORTED_ROWS = 20_000  # up to so many are sorted for each batch, without an index

FOREIGN_KEYS = """
    SELECT conrelid::regclass::text AS table_name, conname AS name,
        pg_get_constraintdef(con.oid) AS definition
    FROM pg_constraint AS con JOIN pg_namespace AS space ON space.oid = connamespace
    WHERE contype = 'f' AND conparentid = 0 AND nspname IN ('public', 'clicks') ORDER BY 1, 2
"""
INDEXES = (
    "SELECT CAST(oid AS regclass) FROM pg_class WHERE relkind = 'i' AND relname LIKE 'waypost_copy_aid%'"
)
TABLES = """
    SELECT CASE nspname WHEN 'clicks' THEN 'clicks.' ELSE '' END || relname
    FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname IN ('public', 'clicks')
"""


class PostgresStore(CopyStore):
    """A database of PostgreSQL. Clicks are in a schema of their own."""

    is_postgresql = True

    def __init__(self, url: str, *, is_target: bool) -> None:
        arguments = {**SOCKET, "connect_timeout": COMMANDS.connect}
        # a source is read without a transaction, which would hold locks for as long as the copy takes
        level = "READ COMMITTED" if is_target else "AUTOCOMMIT"
        super().__init__(
            create_engine(
                url, poolclass=NullPool, hide_parameters=True, connect_args=arguments, isolation_level=level
            )
        )

    def list_tables(self) -> set[str]:
        return set(self.connection.scalars(text(TABLES)))

    def insert(self, table: CopiedTable, rows: Sequence[Row]) -> None:
        from psycopg import sql  # loaded with the first connection, as all of psycopg

        names = sql.SQL(", ").join(sql.Identifier(column.name) for column in table.table.columns)
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(*table.name.split(".")), names)
        if table.name == CLICK_ROWS:
            time_ms = [column.name for column in table.table.columns].index("time_ms")
            partitions.cover_times(self.connection, [row[time_ms] for row in rows])
        cursor = cast("psycopg.Cursor[Any]", self.connection.connection.cursor())
        try:
            with cursor, cursor.copy(statement) as lines:
                for row in rows:
                    lines.write_row(row)
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded) as error:
            is_taken = isinstance(error, psycopg.errors.UniqueViolation)
            raise RowsRefused(str(error).partition("\n")[0], is_taken=is_taken) from error

    # --- order of texts

    def prepare_source(self) -> None:
        """Makes indexes by which keys with texts are read in one order on both kinds of database.

        Nobody waits for them. They wait for every transaction of this time: without one, reading is slower.
        """
        large = [table for table in self.tables if table.has_text_key and self.count(table) > SORTED_ROWS]
        try:
            self._make_indexes("CREATE INDEX CONCURRENTLY IF NOT EXISTS", large)
        except OperationalError as error:
            log.warning("keys with texts are read without an index: %s", str(error.orig).partition("\n")[0])

    def _make_indexes(self, create: str, tables: Sequence[CopiedTable]) -> None:
        self.connection.rollback()
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            for table in tables:
                if table.has_text_key:
                    key = ", ".join(
                        f'"{column.name}"' + (' COLLATE "C"' if isinstance(column.type, String) else "")
                        for column in table.key
                    )
                    connection.exec_driver_sql(
                        f"{create} {AIDS}_{table.table.name} ON {quoted(table)} ({key})"
                    )

    # --- foreign keys

    def prepare_target(self) -> None:
        with self.transaction() as connection:
            connection.exec_driver_sql(
                f"CREATE TABLE IF NOT EXISTS {AIDS} (table_name text, name text, definition text)"
            )
            connection.exec_driver_sql(f"INSERT INTO {AIDS} {FOREIGN_KEYS}")
            for table, name, _ in connection.execute(text(FOREIGN_KEYS)).all():
                connection.exec_driver_sql(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
        self._make_indexes("CREATE INDEX IF NOT EXISTS", self.tables)

    def finish_target(self) -> None:
        with self.transaction() as connection:
            found = connection.exec_driver_sql(f"SELECT table_name, name, definition FROM {AIDS}").all()  # noqa: S608
            for table, name, definition in found:
                try:
                    connection.exec_driver_sql(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {definition}')
                except Exception as error:
                    refused = getattr(error, "orig", error)
                    if isinstance(refused, psycopg.IntegrityError):
                        raise RowsRefused(str(refused).partition("\n")[0]) from error
                    raise
            connection.exec_driver_sql(f"DELETE FROM {AIDS}")  # noqa: S608

    def drop_aids(self) -> None:
        with self._changing() as connection:
            for index in connection.scalars(text(INDEXES)).all():
                connection.exec_driver_sql(f"DROP INDEX IF EXISTS {index}")
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {AIDS}")

    # --- ids

    def last_ids(self) -> dict[str, int]:
        found = {}
        for table, sequence in self._sequences().items():
            row = self.connection.exec_driver_sql(f"SELECT last_value, is_called FROM {sequence}").one()  # noqa: S608
            found[table] = row.last_value if row.is_called else row.last_value - 1
        return found

    def set_last_ids(self, ids: Mapping[str, int]) -> None:
        """Sets each sequence past the last id that was given, and past every id that is there."""
        with self.transaction() as connection:
            for table, sequence in self._sequences().items():
                most = connection.exec_driver_sql(f"SELECT max(id) FROM {quoted(self.table(table))}").scalar()  # noqa: S608
                last = max(ids.get(table, 0), most or 0)
                connection.execute(
                    text("SELECT setval(CAST(:name AS regclass), :last, :called)"),
                    {"name": sequence, "last": max(last, 1), "called": last > 0},
                )

    def _sequences(self) -> dict[str, str]:
        """The sequence of ids of each table that has one."""
        found = {}
        for table in self.tables:
            if "id" in table.table.c:
                asked = {"name": quoted(table)}
                name = self.connection.scalar(text("SELECT pg_get_serial_sequence(:name, 'id')"), asked)
                if name:
                    found[table.name] = str(name)
        return found

    # --- changes

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        """A transaction of its own, which does not wait for ever for the writers of each table."""
        made = self.engine.connect().execution_options(isolation_level="READ COMMITTED")
        with made as connection, connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            yield connection

    def refuse_changes(self) -> None:
        with self._changing() as connection:
            connection.exec_driver_sql(
                f"CREATE OR REPLACE FUNCTION {STOP}() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'read_only_sql_transaction'; END $$"
            )
            for table in self.tables:
                connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {STOP} ON {quoted(table)}")
                connection.exec_driver_sql(
                    f"CREATE TRIGGER {STOP} BEFORE INSERT OR UPDATE OR DELETE ON {quoted(table)}"
                    f" FOR EACH STATEMENT EXECUTE FUNCTION {STOP}()"
                )

    def allow_changes(self) -> None:
        with self._changing() as connection:
            for table in self.tables:
                connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {STOP} ON {quoted(table)}")
            connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {STOP}()")


def quoted(table: CopiedTable) -> str:
    """The table's name as a statement has it; `user` is a word of PostgreSQL's."""
    return f"{CLICKS}.{table.table.name}" if table.schema else f'"{table.table.name}"'
