"""How are many rows written, and looked up, by one statement?

Of plain tuples and without a query builder: this runs for every visit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Boolean, String, Table
from sqlalchemy.engine import Connection

Rows = Sequence[tuple[Any, ...]]


def put(connection: Connection, table: Table, rows: Rows, conflict: str) -> None:
    """Insert rows of all the table's columns, in their order; `conflict` says what follows ON CONFLICT."""
    if not rows:
        return
    names = ", ".join(table.c.keys())
    if connection.dialect.name == "postgresql":
        insert = f"INSERT INTO {table.fullname} ({names}) SELECT * FROM {arrays(table, names)}"  # noqa: S608
        connection.exec_driver_sql(f"{insert} ON CONFLICT {conflict}", columns(rows))
    else:
        marks = ", ".join("?" * len(table.c))
        insert = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608
        connection.exec_driver_sql(f"{insert} ON CONFLICT {conflict}", list(rows))


def add(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert rows; where their key is there already, add the other columns to those of its row."""
    keys, others = parted(table)
    sums = [f"{name} = {table.name}.{name} + excluded.{name}" for name in others]
    put(connection, table, rows, f"({', '.join(keys)}) DO UPDATE SET {', '.join(sums)}")


def replace(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert rows, in place of those with the same key."""
    keys, others = parted(table)
    values = [f"{name} = excluded.{name}" for name in others]
    put(connection, table, rows, f"({', '.join(keys)}) DO UPDATE SET {', '.join(values)}")


def parted(table: Table) -> tuple[list[str], list[str]]:
    """The names of the columns that are the key, and of all others."""
    keys = [column.name for column in table.primary_key]
    return keys, [column.name for column in table.columns if column.name not in keys]


def find(connection: Connection, table: Table, keys: Rows) -> list[tuple[Any, ...]]:
    """The rows of these primary keys, as far as there are any: the key first, then all else."""
    if not keys:
        return []
    names, others = parted(table)
    wanted = ", ".join(f"found.{name}" for name in [*names, *others])
    if connection.dialect.name == "postgresql":
        asked = f"{arrays(table, ', '.join(names))} JOIN {table.fullname} AS found USING ({', '.join(names)})"
        return rows_of(connection, f"SELECT {wanted} FROM {asked}", columns(keys))  # noqa: S608
    same = (f"found.{name} = json_extract(asked.value, '$[{n}]')" for n, name in enumerate(names))
    # CROSS: the other way round every row of the table would be looked at
    asked = f"json_each(?) AS asked CROSS JOIN {table.name} AS found ON {' AND '.join(same)}"
    return rows_of(connection, f"SELECT {wanted} FROM {asked}", (json.dumps(keys),))  # noqa: S608


def rows_of(connection: Connection, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """As the driver has them: SQLAlchemy's rows take longer than all else here."""
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
    finally:
        cursor.close()


def columns(rows: Rows) -> tuple[list[Any], ...]:
    return tuple(map(list, zip(*rows, strict=True)))


def arrays(table: Table, names: str) -> str:
    """As many arrays side by side, as a table of these columns."""
    kinds = (kind(table, name) for name in names.split(", "))
    return f"unnest({', '.join(f'%s::{each}[]' for each in kinds)}) AS asked ({names})"


def kind(table: Table, name: str) -> str:
    type_ = table.c[name].type
    return "text" if isinstance(type_, String) else "boolean" if isinstance(type_, Boolean) else "bigint"
