"""How does a row become a document together with all that falls with it, and rows again?

What falls with it is what the database's own `ON DELETE CASCADE` names: a table that comes later needs
nothing here. One that is better lost says `info={"is_trashed": False}`.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, ForeignKey, Table, insert, select

from app.database import UtcDateTime
from app.extensions import db

Row = dict[str, Any]
Document = dict[str, list[Row]]


class Part(NamedTuple):
    """A table whose rows fall with another's, and the column by which they do."""

    table: Table
    column: Column[Any]


def parts_of(table: Table) -> list[Part]:
    """The table itself first, then what hangs on it."""
    found = [Part(table, table.c.id)]
    for other in table.metadata.sorted_tables:
        if other.info.get("is_trashed", True):
            found += [Part(other, key.parent) for key in keys_to(other, table)]
    return found


def keys_to(table: Table, target: Table) -> Iterator[ForeignKey]:
    for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
        if key.column.table is target and key.ondelete == "CASCADE":
            yield key


def documents(table: Table, ids: Sequence[int]) -> dict[int, Document]:
    """For each id its row and what falls with it. Kept from being changed, where the database can."""
    found: dict[int, Document] = {id_: {} for id_ in ids}
    for part in parts_of(table):
        rows = select(part.table).where(part.column.in_(ids)).with_for_update()
        for row in db.session.execute(rows).mappings():
            document = found[row[part.column]]
            document.setdefault(part.table.name, []).append(written(row))
    return found


def written(row: Mapping[Any, Any]) -> Row:
    return {
        str(name): value.isoformat() if isinstance(value, dt.datetime) else value
        for name, value in row.items()
    }


def read(table: Table, row: Row) -> Row:
    """The row's columns that there are today: a table may have changed since. What says `is_trashed` False is
    made anew from the others."""
    columns = {column.name: column for column in table.c if column.info.get("is_trashed", True)}
    return {name: parsed(columns[name], value) for name, value in row.items() if name in columns}


def parsed(column: Column[Any], value: Any) -> Any:
    is_moment = isinstance(column.type, UtcDateTime) and value is not None
    return dt.datetime.fromisoformat(value) if is_moment else value


class Left(NamedTuple):
    """A row that could not come back, for what it names is not there: in `table` the row `id`."""

    table: str
    id: int
    origin: str
    row: Row


def write_back(root: Table, found: Sequence[Document]) -> list[Left]:
    """Insert all rows of the documents again; what hangs on something that is gone stays away.

    Where only a column names something that is gone, and the database would have emptied it: so do we.
    """
    lost: list[Left] = []
    for part in parts_of(root):
        name, table = part.table.name, part.table
        rows = [read(table, row) for document in found for row in document.get(name, ())]
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
            if key.column.table is not root and key.ondelete in {"CASCADE", "SET NULL"}:
                rows = fit(rows, key, lost)
        if rows:
            db.session.execute(insert(table), rows)
    return lost


def fit(rows: list[Row], key: ForeignKey, lost: list[Left]) -> list[Row]:
    """Those rows that still fit: what the key names is looked for, and kept from being deleted meanwhile."""
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
            lost.append(Left(target.table.name, row[name], key.parent.table.name, written(row)))
    return kept


def by_target(lost: Sequence[Left]) -> dict[tuple[str, int], list[Left]]:
    found: dict[tuple[str, int], list[Left]] = defaultdict(list)
    for left in lost:
        found[left.table, left.id].append(left)
    return found
