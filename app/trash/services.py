"""Moving things to the trash, finding and restoring them. Each thing's own package deletes its row.

A row and its dependent rows, those removed by `ON DELETE CASCADE`, become a document and rows again, so a new
table needs no code here. A table whose rows are not to be kept has `info={"is_trashed": False}`.
"""

# see docs/decisions/2026-11-21-trash-and-history.md
from __future__ import annotations

import datetime as dt
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, ForeignKey, Select, Table, delete, func, insert, select
from sqlalchemy.orm import undefer

from app.accounts.access import MAX_ID
from app.accounts.models import User
from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import UtcDateTime
from app.core.encryption import UnreadableSecret
from app.core.errors import FieldError, Invalid, NotFound
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import Listing, one_of
from app.trash.models import RETENTION, Trashed

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


UNREADABLE = _l("This can't be read with the secret key of this Waypost, so it can't be restored.")


def new_batch() -> str:
    return secrets.token_hex(16)


def throw_away(
    rows: Sequence[Any], describe: Callable[[Any], tuple[str, str]], batch: str | None = None
) -> str:
    """Store these rows of one table in the trash with their dependent rows; the caller then deletes them.

    `describe`: name and detail that the trash shows. Returns the batch.
    """
    batch = batch or new_batch()
    if not rows:
        return batch
    table = rows[0].__table__
    renumber_namesakes(table, [row.id for row in rows])
    found = documents(table, [row.id for row in rows])
    moment = now()
    told = [(row, *describe(row)) for row in rows]
    kept = [
        {
            "workspace_id": row.workspace_id,
            "user_id": row.user_id,
            "kind": table.name,
            "row_id": row.id,
            "batch": batch,
            "name": name,
            "detail": detail,
            "rows": found[row.id],
            "deleted_datetime": moment,
        }
        for row, name, detail in told
    ]
    db.session.execute(insert(Trashed), kept)
    row, name, _ = told[0]
    on = Object(table.name, row.id, name) if len(told) == 1 else Object(table.name)
    record(db.session, f"{table.name}.deleted", owner_id=row.user_id, on=on, count=len(told))
    return batch


def renumber_namesakes(table: Table, ids: Sequence[int]) -> None:
    """Give new ids to things in the trash that share one of `ids` of `table`.

    SQLite reused the ids of handlers (until 94dc996). Where that happened while the first one was in the
    trash, the second could not be deleted, nor the first restored. PostgreSQL never reused any.
    """
    same = select(Trashed).where(Trashed.kind == table.name, Trashed.row_id.in_(ids)).order_by(Trashed.id)
    for one in db.session.scalars(same.options(undefer(Trashed.rows)).with_for_update()):
        highest = (
            db.session.scalar(select(func.max(table.c.id))) or 0,
            db.session.scalar(select(func.max(Trashed.row_id)).where(Trashed.kind == table.name)) or 0,
        )
        new_id = max(highest) + 1
        if not isinstance(one.rows, UnreadableSecret):
            one.rows = renumbered(table, one.rows, one.row_id, new_id)
        one.row_id = new_id
        db.session.flush()


def find(workspace_id: int, id: int) -> Trashed:
    """A thing in the user's trash, locked for this transaction. Raises NotFound, also once it has expired."""
    mine = still_there(workspace_id).where(Trashed.id == id).with_for_update()
    found: Trashed | None = db.session.scalars(mine).first() if id <= MAX_ID else None
    if found is None:
        raise NotFound("thing in the trash")
    return found


def require_readable(trashed: Sequence[Trashed]) -> None:
    """Raises Invalid where one was encrypted with a secret key that is missing: it can only be purged."""
    if any(isinstance(one.rows, UnreadableSecret) for one in trashed):
        raise Invalid(FieldError(UNREADABLE, "unreadable"))


def find_batch(workspace_id: int, batch: str) -> list[Trashed]:
    """The things of one batch that are still in the trash, by id. Raises NotFound when there are none."""
    mine = still_there(workspace_id).where(Trashed.batch == batch).order_by(Trashed.id).with_for_update()
    found = list(db.session.scalars(mine))
    if not found:
        raise NotFound("thing in the trash")
    require_readable(found)
    return found


def still_there(workspace_id: int) -> Select[Trashed]:
    mine = select(Trashed).where(
        Trashed.workspace_id == workspace_id, Trashed.deleted_datetime > now() - RETENTION
    )
    return mine.options(undefer(Trashed.rows))


def put_back(trashed: Sequence[Trashed], model: type[Any]) -> list[Any]:
    """Restore rows of one table, with their ids and dependent rows, and record that.

    A dependent row whose other owner is in the trash too is added there, and is restored with that one. A row
    whose id was reused gets a new one.
    """
    table = model.__table__
    ids = [one.row_id for one in trashed]
    renumber_namesakes(table, list(db.session.scalars(select(table.c.id).where(table.c.id.in_(ids)))))
    lost = write_back(model.__table__, owned_rows(trashed))
    for (kind, row_id), rows in by_target(lost).items():
        other = db.session.scalar(select(Trashed).filter_by(kind=kind, row_id=row_id).with_for_update())
        if other is not None and not isinstance(other.rows, UnreadableSecret):
            document = {name: list(others) for name, others in other.rows.items()}
            for left in rows:
                document.setdefault(left.origin, []).append(left.row)
            other.rows = document
    note_restored(trashed)
    forget(trashed)
    ids = [one.row_id for one in trashed]
    found = {row.id: row for row in db.session.scalars(select(model).where(model.id.in_(ids)))}
    return [found[id_] for id_ in ids]


def note_restored(trashed: Sequence[Trashed]) -> None:
    """Record in the audit log that these things of one kind are restored."""
    if trashed:
        first = trashed[0]
        on = Object(first.kind, first.row_id, first.name) if len(trashed) == 1 else Object(first.kind)
        record(db.session, f"{first.kind}.restored", owner_id=first.user_id, on=on, count=len(trashed))


def owned_rows(trashed: Sequence[Trashed]) -> list[Document]:
    """The documents, with whose each row is. Those from before there were workspaces do not say that.

    A row of a user who is gone since is restored as made by whom the entry in the trash is of.
    """
    makers = {
        row["user_id"] for one in trashed for rows in one.rows.values() for row in rows if "user_id" in row
    }
    there = set(db.session.scalars(select(User.id).where(User.id.in_(makers))))
    return [
        {name: [owned_row(one, row, there) for row in rows] for name, rows in one.rows.items()}
        for one in trashed
    ]


def owned_row(one: Trashed, row: Row, there: Collection[int]) -> Row:
    maker = row.get("user_id")
    return {**row, "workspace_id": one.workspace_id, "user_id": maker if maker in there else one.user_id}


def forget(trashed: Sequence[Trashed]) -> None:
    """Remove these from the trash."""
    ids = [one.id for one in trashed]
    db.session.flush()
    db.session.execute(
        delete(Trashed).where(Trashed.id.in_(ids)), execution_options={"synchronize_session": False}
    )
    for one in trashed:
        db.session.expunge(one)


# the kinds of rows that a trash may hold, by the names of their tables
KINDS: Sequence[str] = ("link", "pixel", "notification_handler")

LISTING = Listing(
    model=Trashed,
    filters={"type": lambda text, params: Trashed.kind == one_of(KINDS)(text)},  # noqa: ARG005
    orders={"trash_id": Trashed.id, "datetime": Trashed.deleted_datetime},
)
