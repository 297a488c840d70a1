"""Bulk statements: writes and looks up many rows at once.

It takes plain tuples and uses no query builder, because it runs for every click.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Boolean, String, Table
from sqlalchemy.engine import Connection

Rows = Sequence[tuple[Any, ...]]


def insert_rows(connection: Connection, table: Table, rows: Rows, conflict: str) -> None:
    """Inserts rows of all the table's columns, in their order; `conflict` is the clause after ON CONFLICT."""
    if not rows:
        return
    names = ", ".join(table.c.keys())
    if connection.dialect.name == "postgresql":
        insert = f"INSERT INTO {table.fullname} ({names}) SELECT * FROM {unnest_arrays(table, names)}"  # noqa: S608
        connection.exec_driver_sql(f"{insert} ON CONFLICT {conflict}", columns(rows))
    else:
        marks = ", ".join("?" * len(table.c))
        insert = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608
        connection.exec_driver_sql(f"{insert} ON CONFLICT {conflict}", list(rows))


def insert_or_add(connection: Connection, table: Table, rows: Rows) -> None:
    """Inserts rows; where a key exists already, adds the other columns to those of its row."""
    keys, others = split_columns(table)
    sums = [f"{name} = {table.name}.{name} + excluded.{name}" for name in others]
    insert_rows(connection, table, rows, f"({', '.join(keys)}) DO UPDATE SET {', '.join(sums)}")


def insert_or_replace(connection: Connection, table: Table, rows: Rows) -> None:
    """Inserts rows, in place of those with the same key."""
    keys, others = split_columns(table)
    values = [f"{name} = excluded.{name}" for name in others]
    insert_rows(connection, table, rows, f"({', '.join(keys)}) DO UPDATE SET {', '.join(values)}")


def split_columns(table: Table) -> tuple[list[str], list[str]]:
    """The names of the key columns, and of all others."""
    keys = [column.name for column in table.primary_key]
    return keys, [column.name for column in table.columns if column.name not in keys]


def find_rows(connection: Connection, table: Table, keys: Rows) -> list[tuple[Any, ...]]:
    """The existing rows with these primary keys: key columns first, then the others."""
    if not keys:
        return []
    names, others = split_columns(table)
    wanted = ", ".join(f"found.{name}" for name in [*names, *others])
    if connection.dialect.name == "postgresql":
        keyed = ", ".join(names)
        asked = f"{unnest_arrays(table, keyed)} JOIN {table.fullname} AS found USING ({keyed})"
        return rows_of(connection, f"SELECT {wanted} FROM {asked}", columns(keys))  # noqa: S608
    same = (f"found.{name} = json_extract(asked.value, '$[{n}]')" for n, name in enumerate(names))
    # CROSS fixes the join order: the other way round every row of the table would be read
    asked = f"json_each(?) AS asked CROSS JOIN {table.name} AS found ON {' AND '.join(same)}"
    return rows_of(connection, f"SELECT {wanted} FROM {asked}", (json.dumps(keys),))  # noqa: S608


def rows_of(connection: Connection, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Rows as the driver returns them: SQLAlchemy's rows take longer than everything else here."""
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
    finally:
        cursor.close()


def columns(rows: Rows) -> tuple[list[Any], ...]:
    return tuple(map(list, zip(*rows, strict=True)))


def unnest_arrays(table: Table, names: str) -> str:
    """A table expression with these columns, unnested from one array for each."""
    kinds = (kind(table, name) for name in names.split(", "))
    return f"unnest({', '.join(f'%s::{each}[]' for each in kinds)}) AS asked ({names})"


def kind(table: Table, name: str) -> str:
    type_ = table.c[name].type
    return "text" if isinstance(type_, String) else "boolean" if isinstance(type_, Boolean) else "bigint"
