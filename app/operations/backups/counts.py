"""Rows of each table: in the files of a backup, in its dumps, and in a database that was restored of them."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import NullPool, create_engine, text

FILES = ("main.db", "clicks.db")
DUMPS = ("main.sql", "clicks.sql")
# as pg_dump writes it; names of ours need no quotes, but some are words of SQL
COPY = re.compile(rb'COPY ("?\w+"?\."?\w+"?) .*FROM stdin;\n', re.ASCII)
END = b"\\.\n"

Rows = dict[str, int]


def rows_of_files(directory: Path) -> Rows:
    """Rows by file and table, such as `main.db link`."""
    found: Rows = {}
    for name in FILES:
        with contextlib.closing(sqlite3.connect(directory / name)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            for (table,) in tables.fetchall():
                if not table.startswith("sqlite_"):
                    rows = connection.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608  our own file
                    found[f"{name} {table}"] = rows.fetchone()[0]
    return found


def rows_of_dumps(directory: Path) -> Rows:
    """Rows by the table's name as the dumps write it, such as `public.link` or `public."user"`."""
    found: Rows = {}
    for name in DUMPS:
        with (directory / name).open("rb") as lines:
            for line in lines:
                if line.startswith(b"COPY ") and (match := COPY.fullmatch(line)):
                    found[match[1].decode()] = count_copied(lines)
    return found


def count_copied(lines: Iterable[bytes]) -> int:
    """The rows up to the end of the data. In it a backslash that begins a line stands for nothing else."""
    count = 0
    for line in lines:
        if line == END:
            return count
        count += 1
    return count


def rows_of_database(url: str, tables: Iterable[str]) -> Rows:
    """Rows of tables that the dumps named."""
    engine = create_engine(url, poolclass=NullPool)
    try:
        with engine.connect() as connection:
            return {
                table: connection.execute(text(f"SELECT count(*) FROM ONLY {table}")).scalar_one()  # noqa: S608
                for table in tables
            }
    finally:
        engine.dispose()
