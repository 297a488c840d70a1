"""When does what lies in the trash go for good, and what goes with it?"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine, delete, select
from sqlalchemy.orm import Session, undefer

from app.audit.services import Object, record
from app.clock import now
from app.database import AnySession, begin_write
from app.error_boundary import ErrorBoundary
from app.extensions import db
from app.links import replaced, uploads
from app.links.history import PICTURES
from app.links.models import Link, LinkChange
from app.trash.models import KEPT, Trashed

AT_ONCE = 100  # in a transaction: others write, too
KIND = Link.__tablename__

errors = ErrorBoundary("trash")


def purge(engine: Engine) -> int:
    """What has been there for 30 days goes; how many that were."""
    total = last = 0
    with Session(engine) as session:
        while ids := old_ids(session, last):
            last = ids[-1]
            total += len(ids) - len(errors.each(ids, lambda some: purge_some(session, some)))
    return total


def old_ids(session: Session, last: int) -> Sequence[int]:
    """The next ones that have been there for 30 days, but those that can't be purged just now."""
    old = Trashed.deleted_datetime <= now() - KEPT, Trashed.id > last
    wanted = select(Trashed.id).where(*old, Trashed.id.not_in(errors.backed_off(int)))
    ids = session.scalars(wanted.order_by(Trashed.id).limit(AT_ONCE)).all()
    session.rollback()
    return ids


def purge_some(session: Session, ids: Sequence[int]) -> int:
    """The files first: nobody can put back what is so old, and where this ends in between it begins again."""
    begin_write(session)
    found = session.scalars(
        select(Trashed)
        .where(Trashed.id.in_(ids))
        .options(undefer(Trashed.rows))
        .order_by(Trashed.id)
        .with_for_update(skip_locked=True)
    ).all()
    uploads.remove(pictures_of(found))
    uploads.remove_files(replaced.of_links(links_of(found)))
    remove_rows(session, found)
    session.commit()
    return len(found)


def empty_trash(user_id: int, ids: Sequence[int] | None = None) -> int:
    """These things of a user's, or all of them, go now; files once that is committed. How many that were."""
    mine = select(Trashed).where(Trashed.user_id == user_id).options(undefer(Trashed.rows)).with_for_update()
    found = db.session.scalars(mine if ids is None else mine.where(Trashed.id.in_(ids))).all()
    for name in pictures_of(found):
        uploads.discard(name)
    replaced.forget(links_of(found))
    remove_rows(db.session, found)
    if found:
        one = found[0] if len(found) == 1 else None
        on = Object(one.kind, one.row_id, one.name) if one else Object("")
        record(db.session, "trash.purged", owner_id=user_id, on=on, count=len(found))
    return len(found)


def pictures_of(trashed: Sequence[Trashed]) -> list[str]:
    rows = [row for one in trashed for row in one.rows.get(KIND, ()) if one.kind == KIND]
    return [row[name] for row in rows for name in PICTURES if row.get(name)]


def links_of(trashed: Sequence[Trashed]) -> list[int]:
    return [one.row_id for one in trashed if one.kind == KIND]


def remove_rows(session: AnySession, trashed: Sequence[Trashed]) -> None:
    links = links_of(trashed)
    ids = [one.id for one in trashed]
    session.execute(delete(LinkChange).where(LinkChange.link_id.in_(links)))
    session.execute(delete(Trashed).where(Trashed.id.in_(ids)))
