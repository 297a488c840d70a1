"""Purges the trash: entries after 30 days or on demand, with their pictures and history."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine, delete, select
from sqlalchemy.orm import Session, undefer

from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import AnySession, begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.extensions import db
from app.events.drafts import record_purge
from app.links import previous_uploads, uploads
from app.links.history import PICTURES
from app.links.models import Link, LinkChange
from app.trash.models import RETENTION, Trashed

BATCH_SIZE = 100  # entries in one transaction: others must be able to write in between
KIND = Link.__tablename__

errors = ErrorBoundary("trash")


def purge(engine: Engine) -> int:
    """Purge entries that have been in the trash for 30 days. Returns how many."""
    total = last = 0
    with Session(engine) as session:
        while ids := old_ids(session, last):
            last = ids[-1]
            total += len(ids) - len(errors.each(ids, lambda some: purge_some(session, some)))
    return total


def old_ids(session: Session, last: int) -> Sequence[int]:
    """The next entries that are 30 days old, without those whose purge failed lately."""
    old = Trashed.deleted_datetime <= now() - RETENTION, Trashed.id > last
    wanted = select(Trashed.id).where(*old, Trashed.id.not_in(errors.backed_off(int)))
    ids = session.scalars(wanted.order_by(Trashed.id).limit(BATCH_SIZE)).all()
    session.rollback()
    return ids


def purge_some(session: Session, ids: Sequence[int]) -> int:
    """Purge these entries, files first: entries so old can't be restored, and an interrupted purge is done
    again."""
    begin_write(session)
    found = session.scalars(
        select(Trashed)
        .where(Trashed.id.in_(ids))
        .options(undefer(Trashed.rows))
        .order_by(Trashed.id)
        .with_for_update(skip_locked=True)
    ).all()
    uploads.remove(session, pictures_of(found))
    previous_uploads.remove(session, links_of(found))
    remove_rows(session, found)
    session.commit()
    return len(found)


def empty_trash(workspace_id: int, ids: Sequence[int] | None = None) -> int:
    """Purge these entries of a user, or all of them; files go on commit. Returns how many."""
    mine = (
        select(Trashed)
        .where(Trashed.workspace_id == workspace_id)
        .options(undefer(Trashed.rows))
        .with_for_update()
    )
    found = db.session.scalars(mine if ids is None else mine.where(Trashed.id.in_(ids))).all()
    for name in pictures_of(found):
        uploads.discard(name)
    previous_uploads.forget(links_of(found))
    remove_rows(db.session, found)
    if found:
        one = found[0] if len(found) == 1 else None
        on = Object(one.kind, one.row_id, one.name) if one else Object("")
        record(db.session, "trash.purged", owner_id=found[0].user_id, on=on, count=len(found))
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
    record_purge(session, [(one.workspace_id, one.row_id) for one in trashed if one.kind == KIND])
    session.execute(delete(Trashed).where(Trashed.id.in_(ids)))
