"""Deletes links into the trash, restores them, and erases them.

Deleting a link removes its row and holds its alias for its owner. Clicks refer to it by an id that is never
used again, so a restored link has its clicks again.

The trash is purged after 30 days or on demand, with pictures and history.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Engine, select, update
from sqlalchemy import delete as delete_from
from sqlalchemy import delete as delete_rows
from sqlalchemy.orm import Session, undefer

from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import AnySession, begin_write, reread
from app.core.error_boundary import ErrorBoundary
from app.core.errors import Invalid
from app.core.extensions import db
from app.domains.models import Domain
from app.events.drafts import record_purge
from app.links import previous_uploads, uploads
from app.links.aliases import HELD, claim, claim_random, key_of
from app.links.change_events import record_changes
from app.links.clicks import copy_clicks
from app.links.favicons import request_icons
from app.links.history import PICTURES, note
from app.links.invalidation import invalidate, place_of
from app.links.models import Alias, Link, LinkChange
from app.links.relations import own_rows, refuse_unusable
from app.links.schedule_events import expect
from app.trash import services as trash
from app.trash.models import RETENTION, Trashed

KIND = Link.__tablename__


def delete(link: Link) -> str:
    """Move a link to the trash; its alias is held for its owner. Raises NotFound if it is gone already.

    Returns the batch, by which it can be restored.
    """
    reread(db.session, link)
    return delete_many(link.workspace_id, [link.id])[0]


def delete_many(workspace_id: int, ids: Collection[int], batch: str | None = None) -> tuple[str, set[int]]:
    """The same for many links of a user, in a few statements. Returns the batch, and the ids not found."""
    there = read_anew(workspace_id, ids)
    batch = trash.throw_away(there, described, batch)
    missing = set(ids) - {link.id for link in there}
    for link in there:
        for name in PICTURES:
            previous_uploads.put_away(link.id, getattr(link, name))
    if there:
        note(there, "deleted")
        take_away(there)
    return batch, missing


def erase(workspace_id: int, ids: Collection[int]) -> None:
    """Delete links for good, with their pictures and history. They can't be restored."""
    there = read_anew(workspace_id, ids)
    for link in there:
        for name in PICTURES:
            uploads.discard(getattr(link, name))
    if there:
        forget_history([link.id for link in there])
        record_changes(there, "deleted", {})
        record_purge(db.session, [(link.workspace_id, link.id) for link in there])
        previous_uploads.forget([link.id for link in there])
        take_away(there)


def read_anew(workspace_id: int, ids: Collection[int]) -> Sequence[Link]:
    """The links that still exist, read again and locked."""
    rows = (
        select(Link)
        .where(Link.workspace_id == workspace_id, Link.id.in_(ids))
        .order_by(Link.id)
        .with_for_update(of=Link)
    )
    return db.session.scalars(rows.execution_options(populate_existing=True)).all()


def take_away(links: Sequence[Link]) -> None:
    """Delete the rows and hold the aliases. Past the ORM, which would read all related rows: those are
    removed by `ON DELETE CASCADE`."""
    ids = [link.id for link in links]
    invalidate(*map(place_of, links))
    held = update(Alias).where(Alias.link_id.in_(ids)).values(link_id=None, held_until=now() + HELD)
    for statement in (held, delete_from(Link).where(Link.id.in_(ids))):
        db.session.execute(statement, execution_options={"synchronize_session": False})
    for link in links:
        db.session.expunge(link)


def described(link: Link) -> tuple[str, str]:
    return link.url, link.location_url


def restore(trashed: Trashed, changes: dict[str, Any] | None = None) -> Link:
    """Restore a link under its alias, or by `changes`: `url` (empty: a random one), `domain_id`.

    Raises AliasTaken if another link has that alias now, Invalid if its domain is not usable.
    """
    changes = changes or {}
    row = trashed.rows[KIND][0] | {k: v for k, v in changes.items() if k == "domain_id" or (k == "url" and v)}
    require_domain(trashed.workspace_id, row)
    trashed.rows = {**trashed.rows, KIND: [row]}
    link: Link = trash.put_back([trashed], Link)[0]
    copy_clicks(db.session, [link.id])
    if "url" in changes and not changes["url"]:
        claim_random([link])
    else:
        claim(link)
    bring_pictures_back(link)
    expect(link, {})
    invalidate(place_of(link))
    note([link], "restored")
    request_icons(link.workspace_id, link.user_id, [link.location_url])
    db.session.flush()
    return link


def bring_pictures_back(link: Link) -> None:
    for name in PICTURES:
        previous_uploads.bring_back(link.id, getattr(link, name))


def require_domain(workspace_id: int, row: dict[str, Any]) -> None:
    if row["domain_id"]:
        refuse_unusable(own_rows(workspace_id, Domain, [row["domain_id"]], "domain_id")[0])


def restore_many(trashed: Sequence[Trashed]) -> tuple[list[Link], list[Trashed]]:
    """Restore links. Returns them, and the entries that stay in the trash: their alias or domain is not free
    or not usable."""
    stuck = {one.id for one in trashed if is_taken(one) or is_homeless(one)}
    links = trash.put_back([one for one in trashed if one.id not in stuck], Link)
    copy_clicks(db.session, [link.id for link in links])
    for link in links:
        claim(link)
        bring_pictures_back(link)
        expect(link, {})
    if links:
        invalidate(*map(place_of, links))
        note(links, "restored")
        request_icons(links[0].workspace_id, links[0].user_id, [link.location_url for link in links])
    return links, [one for one in trashed if one.id in stuck]


def is_taken(one: Trashed) -> bool:
    row = one.rows[KIND][0]
    mine = Alias.workspace_id == one.workspace_id
    found = db.session.scalar(
        select(Alias.link_id.is_not(None) | ~mine).where(
            Alias.domain_id == (row["domain_id"] or 0), Alias.key == key_of(row["url"])
        )
    )
    return bool(found)


def is_homeless(one: Trashed) -> bool:
    try:
        require_domain(one.workspace_id, one.rows[KIND][0])
    except Invalid:
        return True
    return False


def forget_history(ids: Sequence[int]) -> None:
    gone = delete_from(LinkChange).where(LinkChange.link_id.in_(ids))
    db.session.execute(gone, execution_options={"synchronize_session": False})


BATCH_SIZE = 100  # entries in one transaction: others must be able to write in between

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
        first, one = found[0], found[0] if len(found) == 1 else None
        on = Object(one.kind, one.row_id, one.name) if one else Object("")
        record(
            db.session,
            "trash.purged",
            owner_id=first.user_id,
            workspace_id=first.workspace_id,
            on=on,
            count=len(found),
        )
    return len(found)


def pictures_of(trashed: Sequence[Trashed]) -> list[str]:
    rows = [row for one in trashed for row in one.rows.get(KIND, ()) if one.kind == KIND]
    return [row[name] for row in rows for name in PICTURES if row.get(name)]


def links_of(trashed: Sequence[Trashed]) -> list[int]:
    return [one.row_id for one in trashed if one.kind == KIND]


def remove_rows(session: AnySession, trashed: Sequence[Trashed]) -> None:
    links = links_of(trashed)
    ids = [one.id for one in trashed]
    session.execute(delete_rows(LinkChange).where(LinkChange.link_id.in_(links)))
    record_purge(session, [(one.workspace_id, one.row_id) for one in trashed if one.kind == KIND])
    session.execute(delete_rows(Trashed).where(Trashed.id.in_(ids)))
