"""Copies a stopped instance from SQLite to PostgreSQL, or back.

Every table of the models is read once and written in batches, then read back and compared: the number of its
rows, and a checksum that does not depend on their order. The copy is whole or not there: PostgreSQL takes all
of it in one transaction, and SQLite's files are in a folder of their own until they are complete.
"""

# see docs/decisions/2026-11-29-moving-to-another-database.md
from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from typing import cast as as_type

from sqlalchemy import (
    JSON,
    Column,
    Engine,
    LargeBinary,
    MetaData,
    NullPool,
    Table,
    Text,
    cast,
    create_engine,
    delete,
    event,
    func,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeDecorator, TypeEngine

from app.analytics import partitions
from app.core import stored_files
from app.core.config import Settings
from app.core.database import CLICKS, Base
from app.core.durable_files import create_file, scratch_folder, sync_directory
from app.core.extensions import db
from app.core.patience import COMMANDS, SOCKET
from app.core.postgresql import psycopg
from app.core.stored_files import StoredContent, StoredFile
from app.jobs import schedule  # noqa: F401  its table is one of the models', which no page imports
from app.links import orphan_uploads, previous_uploads, uploads
from app.operations.database import upgrade_copy

# state that must not outlive its day or its server; pictures have a way of their own (`copy_pictures`)
NOT_COPIED = {"daily_salt", "rate_limit_count", "stored_content", "stored_file"}
CLICK_ROWS = f"{CLICKS}.click"  # which PostgreSQL keeps in a partition for each month
DRAFT = ".database-copy-"  # the folder of SQLite's files until they are complete
BATCH_ROWS, BINARY_BATCH_ROWS = 5000, 20
FOREIGN_KEYS = """
    SELECT conrelid::regclass::text AS table_name, conname, pg_get_constraintdef(con.oid) AS definition
    FROM pg_constraint AS con JOIN pg_namespace AS space ON space.oid = connamespace
    WHERE contype = 'f' AND conparentid = 0 AND nspname IN ('public', 'clicks') ORDER BY 1, 2
"""

Row = tuple[Any, ...]


class CopyFailed(Exception):
    """The copy can't be made, or differs from its source. The text says why, for people."""


class CopiedTable(NamedTuple):
    """A table that was copied, and read back. `digest`: of all its rows, in any order."""

    name: str
    rows: int
    digest: str


def copy_database(settings: Settings, address: str, note: Callable[[str, int], None]) -> list[CopiedTable]:
    """Copies the stopped instance of the settings. `note` is told a table's name and its rows so far.

    Raises CopyFailed, or an error of the database. Then there is no copy.
    """
    tables = [plain_table(table) for table in Base.metadata.sorted_tables if is_copied(table)]
    opened = new_files if address.startswith("sqlite") else new_database
    with opened(settings, address) as target:
        with opened_source() as source:
            copied = [copy_table(source, target, table, note) for table in tables]
            for table in tables:
                set_last_id(target, table, find_last_id(source, table))
            copy_pictures(settings.data_dir, source, target)
        for table, written in zip(tables, copied, strict=True):
            if digest_rows(table, read_rows(target, table)) != written:
                raise CopyFailed(f"{table.fullname} reads back in another way than it was written.")
    return copied


def is_copied(table: Table) -> bool:
    # rows of a transient table are made by triggers
    return table.name not in NOT_COPIED and not table.info.get("transient")


def plain_table(table: Table) -> Table:
    """The table with the values as they are stored: an encrypted one stays encrypted, JSON is its text."""
    columns = [
        Column(column.name, stored_type(column.type), primary_key=column.primary_key)
        for column in table.columns
    ]
    counts_ids = table.dialect_options["sqlite"]["autoincrement"]
    return Table(table.name, MetaData(), *columns, schema=table.schema, sqlite_autoincrement=counts_ids)


def stored_type(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    while isinstance(kind, TypeDecorator):
        kind = kind.impl_instance
    return Text() if isinstance(kind, JSON) else kind


# --- rows


def copy_table(
    source: Connection, target: Connection, table: Table, note: Callable[[str, int], None]
) -> CopiedTable:
    def copied_batches() -> Iterator[list[Row]]:
        count = 0
        for rows in read_rows(source, table):
            insert_rows(target, table, rows)
            count += len(rows)
            note(table.fullname, count)
            yield rows

    return digest_rows(table, copied_batches())


def read_rows(connection: Connection, table: Table) -> Iterator[list[Row]]:
    """All rows, in batches that fit into memory: pictures may have megabytes each."""
    is_binary = any(isinstance(column.type, LargeBinary) for column in table.columns)
    # PostgreSQL's JSON is no text without a cast
    columns = [cast(each, Text) if isinstance(each.type, Text) else each for each in table.columns]
    options = {"yield_per": BINARY_BATCH_ROWS if is_binary else BATCH_ROWS}
    with connection.execute(select(*columns), execution_options=options) as result:
        for rows in result.partitions():
            yield [tuple(row) for row in rows]


def digest_rows(table: Table, batches: Iterator[list[Row]]) -> CopiedTable:
    count = total = 0
    for rows in batches:
        count += len(rows)
        for row in rows:
            total += int.from_bytes(hashlib.blake2b(repr(row).encode(), digest_size=8).digest())
    return CopiedTable(table.fullname, count, f"{total % 2**64:016x}")


def insert_rows(target: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Inserts rows. Raises CopyFailed with the one that PostgreSQL does not take."""
    names = table.columns.keys()
    if target.dialect.name == "sqlite":
        target.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])
        return
    try:
        with target.begin_nested():
            stream_rows(target, table, rows)
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded) as error:
        if len(rows) == 1:
            key = ", ".join(f"{each.name} {rows[0][names.index(each.name)]!r}" for each in table.primary_key)
            reason = str(error).partition("\n")[0]
            raise CopyFailed(f"{table.fullname} ({key}) can't be copied: {reason}") from error
        half = len(rows) // 2
        insert_rows(target, table, rows[:half])
        insert_rows(target, table, rows[half:])


def stream_rows(target: Connection, table: Table, rows: Sequence[Row]) -> None:
    from psycopg import sql  # loaded with the first connection, as all of psycopg

    if table.fullname == CLICK_ROWS:
        at = table.columns.keys().index("time_ms")
        partitions.cover_times(target, [row[at] for row in rows])
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns.keys()))
    name = sql.Identifier(*table.fullname.split("."))
    cursor = as_type("psycopg.Cursor[Any]", target.connection.cursor())
    with cursor, cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(name, columns)) as lines:
        for row in rows:
            lines.write_row(row)


def copy_pictures(data_dir: Path, source: Connection, target: Connection) -> None:
    """Brings pictures to where the target has them: in the database on PostgreSQL, else in files."""
    if target.dialect.name == "sqlite":
        wanted = select(StoredFile.path, StoredContent.content).join(StoredContent)
        for name, content in source.execute(wanted, execution_options={"yield_per": 1}):
            (data_dir / name).parent.mkdir(mode=0o700, exist_ok=True)
            create_file(data_dir / name, content)
        return
    with Session(target) as session:
        for folder, known in (
            (uploads.FOLDER, orphan_uploads.NAME),
            (previous_uploads.FOLDER, previous_uploads.NAME),
        ):
            for path in (data_dir / folder).glob("*"):
                if match := known.fullmatch(path.name):
                    link_id = int(match[1]) if match.groups() else None
                    stored_files.add(session, f"{folder}/{path.name}", path.read_bytes(), link_id)
        session.commit()  # of the session; the transaction goes on


# --- ids that were given, so that none is given again


def find_last_id(source: Connection, table: Table) -> int:
    """The last id that the database has given in a table; 0 where it gives none."""
    counter = find_counter(source, table)
    if counter is None:
        return 0
    if source.dialect.name == "sqlite":
        known = text(f"SELECT seq FROM {counter} WHERE name = :name")  # noqa: S608
        return source.scalar(known, {"name": table.name}) or 0
    last, is_called = source.execute(text(f"SELECT last_value, is_called FROM {counter}")).one()  # noqa: S608
    return int(last if is_called else last - 1)


def set_last_id(target: Connection, table: Table, last: int) -> None:
    counter = find_counter(target, table)
    if counter is None:
        return
    last = max(last, target.scalar(select(func.max(table.c.id))) or 0)
    row = {"name": table.name, "last": last}
    if target.dialect.name == "sqlite":
        target.execute(text(f"DELETE FROM {counter} WHERE name = :name"), row)  # noqa: S608
        target.execute(text(f"INSERT INTO {counter} (name, seq) VALUES (:name, :last)"), row)  # noqa: S608
    else:
        row = {"name": counter, "last": max(last, 1), "called": last > 0}
        target.execute(text("SELECT setval(CAST(:name AS regclass), :last, :called)"), row)


def find_counter(connection: Connection, table: Table) -> str | None:
    """The sequence of a table's ids, or SQLite's table of all such counts; None where there is none."""
    if connection.dialect.name == "sqlite":
        counts_ids = table.dialect_options["sqlite"]["autoincrement"]
        return f"{table.schema or 'main'}.sqlite_sequence" if counts_ids else None
    if "id" not in table.c:
        return None
    asked = {"name": f'{table.schema or "public"}."{table.name}"'}
    found: str | None = connection.scalar(text("SELECT pg_get_serial_sequence(:name, 'id')"), asked)
    return found


# --- the two databases


@contextmanager
def opened_source() -> Iterator[Connection]:
    """The instance's own database, read as of one moment."""
    is_sqlite = db.engine.dialect.name == "sqlite"  # where every transaction is
    options = {} if is_sqlite else {"isolation_level": "REPEATABLE READ"}
    with db.engine.connect().execution_options(**options) as connection:
        yield connection


def open_files(main: Path, clicks: Path) -> Engine:
    """SQLite's two files as one database. Nobody else uses them yet."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(main, isolation_level=None)
        connection.execute("ATTACH DATABASE ? AS clicks", (str(clicks),))
        for schema in ("main", CLICKS):  # a log would hold the whole copy until the end
            connection.execute(f"PRAGMA {schema}.journal_mode = DELETE").fetchall()
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


@contextmanager
def new_files(_settings: Settings, address: str) -> Iterator[Connection]:
    """SQLite's two files, which get their names once they are complete and synced."""
    main = Path(make_url(address).database or "")
    files = (main.with_name("clicks.db"), main)  # the second one says that both are there
    if found := [path for path in files if path.exists()]:
        raise CopyFailed(f"{found[0]} exists already: name a file in an empty folder.")
    with scratch_folder(main.parent, DRAFT) as draft:
        upgrade_copy(draft, f"sqlite:///{draft / main.name}")
        with open_files(draft / main.name, draft / "clicks.db").begin() as connection:
            empty_tables(connection)
            yield connection
            if orphan := connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                raise CopyFailed(f"row {orphan[1]} of {orphan[0]} refers to a missing row of {orphan[2]}.")
        for path in files:
            (draft / path.name).replace(path)
            sync_directory(path.parent)


@contextmanager
def new_database(settings: Settings, address: str) -> Iterator[Connection]:
    """A database of PostgreSQL in one transaction. Foreign keys are checked at its end."""
    limits = {**SOCKET, "connect_timeout": COMMANDS.connect}
    engine = create_engine(address, poolclass=NullPool, hide_parameters=True, connect_args=limits)
    with engine.connect() as connection:
        require_empty(connection)
    with scratch_folder(settings.data_dir, DRAFT) as draft:
        upgrade_copy(draft, address)
    with engine.begin() as connection:
        keys = connection.execute(text(FOREIGN_KEYS)).all()
        for table, name, _ in keys:
            connection.exec_driver_sql(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
        empty_tables(connection)
        yield connection
        for table, name, definition in keys:
            try:
                connection.exec_driver_sql(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {definition}')
            except IntegrityError as error:
                raise CopyFailed(f"{str(error.orig).partition(chr(10))[0]}.") from error


def empty_tables(connection: Connection) -> None:
    """Removes the rows that migrations have made."""
    for table in Base.metadata.sorted_tables:
        connection.execute(delete(table))


def require_empty(connection: Connection) -> None:
    """Raises CopyFailed unless there are no tables, or those of an instance without an account: a copy that
    was killed leaves these."""
    looked = inspect(connection)
    names = {*looked.get_table_names(schema="public")}
    if CLICKS in looked.get_schema_names():
        names |= {f"{CLICKS}.{name}" for name in looked.get_table_names(schema=CLICKS)}
    is_ours = {"user", "alembic_version"} <= names
    if names and not (is_ours and connection.scalar(text('SELECT count(*) FROM "user"')) == 0):
        raise CopyFailed(
            f"The target is not empty: it has {len(names)} tables ({min(names)} …). Make a new database, and"
            " name that."
        )
