"""Conversion of a row and its dependent rows into a document, and back into rows.

Dependent rows are those removed by `ON DELETE CASCADE`, so a new table needs no code here. A table whose rows
are not to be kept has `info={"is_trashed": False}`.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, ForeignKey, Table, insert, select

from app.core.database import UtcDateTime
from app.core.extensions import db

Row = dict[str, Any]
Document = dict[str, list[Row]]


class DependentTable(NamedTuple):
    """A table whose rows are deleted with another's, and the column that refers to it."""

    table: Table
    column: Column[Any]


def parts_of(table: Table) -> list[DependentTable]:
    """The table itself first, then its dependent tables."""
    found = [DependentTable(table, table.c.id)]
    for other in table.metadata.sorted_tables:
        if other.info.get("is_trashed", True):
            found += [DependentTable(other, key.parent) for key in keys_to(other, table)]
    return found


def keys_to(table: Table, target: Table) -> Iterator[ForeignKey]:
    for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
        if key.column.table is target and key.ondelete == "CASCADE":
            yield key


def documents(table: Table, ids: Sequence[int]) -> dict[int, Document]:
    """For each id the document of its row and dependent rows. Locks them, where the database can."""
    found: dict[int, Document] = {id_: {} for id_ in ids}
    for part in parts_of(table):
        rows = select(part.table).where(part.column.in_(ids)).with_for_update()
        for row in db.session.execute(rows).mappings():
            document = found[row[part.column]]
            document.setdefault(part.table.name, []).append(encode_row(row))
    return found


def renumbered(table: Table, document: Document, old_id: int, new_id: int) -> Document:
    """A copy of the document with `new_id` for the row and in its dependent rows."""
    found = {name: [dict(row) for row in rows] for name, rows in document.items()}
    for part in parts_of(table):
        for row in found.get(part.table.name, ()):
            if row.get(part.column.name) == old_id:
                row[part.column.name] = new_id
    return found


def encode_row(row: Mapping[Any, Any]) -> Row:
    return {
        str(name): value.isoformat() if isinstance(value, dt.datetime) else value
        for name, value in row.items()
    }


def read(table: Table, row: Row) -> Row:
    """The stored values of the columns that the table still has: it may have changed since.

    Columns with `is_trashed` False are left out; they are computed anew from the others.
    """
    columns = {column.name: column for column in table.c if column.info.get("is_trashed", True)}
    return {name: parsed(columns[name], value) for name, value in row.items() if name in columns}


def parsed(column: Column[Any], value: Any) -> Any:
    is_moment = isinstance(column.type, UtcDateTime) and value is not None
    return dt.datetime.fromisoformat(value) if is_moment else value


class UnrestoredRow(NamedTuple):
    """A row that could not be restored, because it refers to the missing row `id` of `table`."""

    table: str
    id: int
    origin: str
    row: Row


def write_back(root: Table, found: Sequence[Document]) -> list[UnrestoredRow]:
    """Insert all rows of the documents again. Returns those that depend on a row that is gone.

    A column whose foreign key is `SET NULL` is emptied where its row is gone, as the database does.
    """
    lost: list[UnrestoredRow] = []
    for part in parts_of(root):
        name, table = part.table.name, part.table
        rows = [read(table, row) for document in found for row in document.get(name, ())]
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
            if key.column.table is not root and key.ondelete in {"CASCADE", "SET NULL"}:
                rows = fit(rows, key, lost)
        if rows:
            db.session.execute(insert(table), rows)
    return lost


def fit(rows: list[Row], key: ForeignKey, lost: list[UnrestoredRow]) -> list[Row]:
    """The rows whose foreign key `key` still has its target, which is locked against deletion meanwhile.

    Rows without one are kept with an empty column (`SET NULL`), or added to `lost`.
    """
    name, target = key.parent.name, key.column
    wanted = {row[name] for row in rows if row.get(name) is not None}
    there = set(db.session.scalars(select(target).where(target.in_(wanted)).with_for_update(read=True)))
    kept = []
    for row in rows:
        if row.get(name) is None or row[name] in there:
            kept.append(row)
        elif key.ondelete == "SET NULL":
            kept.append({**row, name: None})
        else:
            lost.append(UnrestoredRow(target.table.name, row[name], key.parent.table.name, encode_row(row)))
    return kept


def by_target(lost: Sequence[UnrestoredRow]) -> dict[tuple[str, int], list[UnrestoredRow]]:
    found: dict[tuple[str, int], list[UnrestoredRow]] = defaultdict(list)
    for left in lost:
        found[left.table, left.id].append(left)
    return found
