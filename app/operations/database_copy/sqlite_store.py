"""SQLite's two files as source or target of a copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine, event, insert, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DataError, IntegrityError, StatementError

from app.core.database import CLICKS
from app.core.durable_files import sync_directory
from app.core.write_stop import REFUSAL
from app.operations.database_copy.store import CopyStore, RowsRefused
from app.operations.database_copy.tables import CopiedTable, Row

STOP = "waypost_write_stop"
BUSY_SECONDS = 30
CHANGES = ("INSERT", "UPDATE", "DELETE")
SCHEMAS = {None: "main", CLICKS: CLICKS}


class SqliteStore(CopyStore):
    """`main.db` with `clicks.db` attached. As a source it is only read; its own programs go on writing."""

    is_postgresql = False

    def __init__(self, main: Path, clicks: Path, *, is_target: bool) -> None:
        self.main, self.clicks, self.is_target = main, clicks, is_target
        engine = create_engine("sqlite://", creator=self.connect, poolclass=NullPool, hide_parameters=True)
        if is_target:
            event.listen(engine, "begin", begin_immediate)
        super().__init__(engine)

    def connect(self) -> sqlite3.Connection:
        mode = "rwc" if self.is_target else "ro"
        uris = [f"{path.absolute().as_uri()}?mode={mode}" for path in (self.main, self.clicks)]
        connection = sqlite3.connect(uris[0], uri=True, isolation_level=None, timeout=BUSY_SECONDS)
        connection.execute("ATTACH DATABASE ? AS clicks", (uris[1],))
        connection.text_factory = decode
        if self.is_target:
            for schema in SCHEMAS.values():
                connection.execute(f"PRAGMA {schema}.journal_mode = WAL").fetchall()
                connection.execute(f"PRAGMA {schema}.synchronous = NORMAL")
        return connection

    def list_tables(self) -> set[str]:
        query = (
            "SELECT name FROM {}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        )
        found = set(self.connection.scalars(text(query.format("main"))))
        return found | {f"{CLICKS}.{name}" for name in self.connection.scalars(text(query.format(CLICKS)))}

    def insert(self, table: CopiedTable, rows: Sequence[Row]) -> None:
        names = [column.name for column in table.table.columns]
        values = [dict(zip(names, row, strict=True)) for row in rows]
        try:
            self.connection.execute(insert(table.table), values)
        except (IntegrityError, DataError) as error:
            reason = str(error.orig)
            raise RowsRefused(reason, is_taken="UNIQUE" in reason) from error
        except StatementError as error:
            if isinstance(error.orig, OverflowError | UnicodeError | ValueError):
                raise RowsRefused(str(error.orig)) from error
            raise

    def finish_target(self) -> None:
        found = self.connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        self.connection.rollback()
        if found is not None:
            raise RowsRefused(f"row {found[1]} of {found[0]} refers to a row of {found[2]} that is not there")

    def close(self) -> None:
        super().close()
        if self.is_target:
            for path in (self.main, self.clicks):
                if path.exists():
                    checkpoint_whole(path)
                    sync_directory(path.parent)

    # --- ids

    def last_ids(self) -> dict[str, int]:
        """The ids that AUTOINCREMENT has given. (Of other tables the highest id is the last one.)"""
        return {
            prefix + str(row.name): int(row.seq)
            for schema, prefix in (("main", ""), (CLICKS, f"{CLICKS}."))
            if self._counts_ids(schema)
            for row in self.connection.execute(text(f"SELECT name, seq FROM {schema}.sqlite_sequence"))  # noqa: S608
        }

    def set_last_ids(self, ids: Mapping[str, int]) -> None:
        with self.transaction() as connection:
            for table in self.tables:
                schema = SCHEMAS[table.schema]
                if table.name not in ids or not self._counts_itself(table):
                    continue
                values = {"name": table.table.name, "seq": ids[table.name]}
                sequence = f"{schema}.sqlite_sequence"
                known = f"UPDATE {sequence} SET seq = max(seq, :seq) WHERE name = :name"  # noqa: S608
                new = f"INSERT INTO {sequence} (name, seq) VALUES (:name, :seq)"  # noqa: S608
                if not connection.execute(text(known), values).rowcount:
                    connection.execute(text(new), values)

    def _counts_ids(self, schema: str) -> bool:
        known = text(f"SELECT 1 FROM {schema}.sqlite_master WHERE name = 'sqlite_sequence'")  # noqa: S608
        return self.connection.scalar(known) is not None

    def _counts_itself(self, table: CopiedTable) -> bool:
        """Whether SQLite gives the table's ids by AUTOINCREMENT."""
        known = f"{SCHEMAS[table.schema]}.sqlite_master"
        made = text(f"SELECT sql FROM {known} WHERE type = 'table' AND name = :name")  # noqa: S608
        return "AUTOINCREMENT" in str(self.connection.scalar(made, {"name": table.table.name})).upper()

    # --- changes

    def refuse_changes(self) -> None:
        with self._changing() as connections:
            for table in self.tables:
                for change in CHANGES:
                    connections[table.schema].execute(
                        f'CREATE TRIGGER IF NOT EXISTS "{trigger_of(table, change)}" BEFORE {change}'
                        f" ON \"{table.table.name}\" BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
                    )

    def allow_changes(self) -> None:
        with self._changing() as connections:
            for table in self.tables:
                for change in CHANGES:
                    connections[table.schema].execute(f'DROP TRIGGER IF EXISTS "{trigger_of(table, change)}"')

    @contextmanager
    def _changing(self) -> Iterator[dict[str | None, sqlite3.Connection]]:
        """Connections that write each file, in a transaction. They wait for other writers."""
        paths = {None: self.main, CLICKS: self.clicks}
        made = {
            schema: sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
            for schema, path in paths.items()
        }
        with closing(made[None]), closing(made[CLICKS]):
            for connection in made.values():
                connection.execute("PRAGMA wal_autocheckpoint = 0")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
            yield made
            for connection in made.values():
                connection.execute("COMMIT")


def trigger_of(table: CopiedTable, change: str) -> str:
    return f"{STOP}_{table.table.name}_{change.lower()}"


def decode(data: bytes) -> str:
    """A stored text. Bytes that are no UTF-8 become half surrogates, which are found and named later."""
    return data.decode("utf-8", "surrogateescape")


def begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def checkpoint_whole(path: Path) -> Any:
    """Brings the log into the file and syncs that, so that a power cut takes nothing of a complete copy."""
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        return connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
