"""How is something thrown away, put back, and forgotten? (Its own package deletes it.)"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Select, delete, insert, select
from sqlalchemy.orm import undefer

from app.audit.services import Object, record
from app.clock import now
from app.errors import FieldError, Invalid, NotThere
from app.extensions import db
from app.ownership import MOST
from app.sealing import Unreadable
from app.trash.documents import by_target, documents, write_back
from app.trash.models import KEPT, Trashed

UNREADABLE = "This can't be read with the secret key of this Waypost, so it can't be restored."


def new_batch() -> str:
    return secrets.token_hex(16)


def throw_away(
    rows: Sequence[Any], describe: Callable[[Any], tuple[str, str]], batch: str | None = None
) -> str:
    """Write down these rows of one table with all that falls with them; the caller deletes them then.

    `describe`: name and detail that the trash shows. Returns the batch.
    """
    batch = batch or new_batch()
    if not rows:
        return batch
    table = rows[0].__table__
    found = documents(table, [row.id for row in rows])
    moment = now()
    told = [(row, *describe(row)) for row in rows]
    kept = [
        {
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


def find(user_id: int, id: int) -> Trashed:
    """What the user threw away, for this write alone. Raises NotThere, also when its time is over."""
    mine = still_there(user_id).where(Trashed.id == id).with_for_update()
    found: Trashed | None = db.session.scalars(mine).first() if id <= MOST else None
    if found is None:
        raise NotThere("thing in the trash")
    return found


def require_readable(trashed: Sequence[Trashed]) -> None:
    """Raises Invalid where one was encrypted with a secret key that is not at hand: it can only be purged."""
    if any(isinstance(one.rows, Unreadable) for one in trashed):
        raise Invalid(FieldError(UNREADABLE, "unreadable"))


def find_batch(user_id: int, batch: str) -> list[Trashed]:
    """What was thrown away at once and is still there, by id. Raises NotThere when nothing is."""
    mine = still_there(user_id).where(Trashed.batch == batch).order_by(Trashed.id).with_for_update()
    found = list(db.session.scalars(mine))
    if not found:
        raise NotThere("thing in the trash")
    require_readable(found)
    return found


def still_there(user_id: int) -> Select[Trashed]:
    mine = select(Trashed).where(Trashed.user_id == user_id, Trashed.deleted_datetime > now() - KEPT)
    return mine.options(undefer(Trashed.rows))


def put_back(trashed: Sequence[Trashed], model: type[Any]) -> list[Any]:
    """Have rows of one table again, with their ids and all that fell with them, where that is still there.

    What hangs on something that lies in the trash itself comes back with that.
    """
    lost = write_back(model.__table__, [one.rows for one in trashed])
    for (kind, row_id), rows in by_target(lost).items():
        other = db.session.scalar(select(Trashed).filter_by(kind=kind, row_id=row_id).with_for_update())
        if other is not None and not isinstance(other.rows, Unreadable):
            document = {name: list(others) for name, others in other.rows.items()}
            for left in rows:
                document.setdefault(left.origin, []).append(left.row)
            other.rows = document
    forget(trashed)
    ids = [one.row_id for one in trashed]
    found = {row.id: row for row in db.session.scalars(select(model).where(model.id.in_(ids)))}
    return [found[id_] for id_ in ids]


def forget(trashed: Sequence[Trashed]) -> None:
    """It is in the trash no more."""
    ids = [one.id for one in trashed]
    db.session.flush()
    db.session.execute(
        delete(Trashed).where(Trashed.id.in_(ids)), execution_options={"synchronize_session": False}
    )
    for one in trashed:
        db.session.expunge(one)
