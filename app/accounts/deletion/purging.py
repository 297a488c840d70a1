"""Removes the data of workspaces and users that were deleted 30 days ago.

What a user made in a workspace that others use stays there, as another member's. A workspace is removed
in this order: first the clicks, while the links still say which clicks these are; then, in batches, the
rows of tables with `ON DELETE CASCADE`, files before the rows that name them; its own row last. Each step
is a short transaction. After a kill the next run goes on with the rows that are left. A table added later
is covered without a change here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, Table, delete, insert, select, tuple_, update
from sqlalchemy.orm import Session, undefer

from app.accounts.models import User, Workspace, WorkspaceInvitation, WorkspaceMember
from app.accounts.standing import RETENTION
from app.accounts.workspaces import heir_of
from app.analytics import erasure
from app.audit.services import record
from app.core.clock import now
from app.core.config import Settings
from app.core.database import PersonalRow, begin_write
from app.core.error_boundary import ErrorBoundary
from app.events.models import EventDraft
from app.import_export import files
from app.import_export.models import FailedRow, LinkImport, PreviewRow
from app.links import previous_uploads, removal, uploads
from app.links.history import PICTURES
from app.links.models import Alias, Link, LinkChange, PlanChange
from app.notifications.models import Delivery, NotificationHandler
from app.trash.models import Trashed

BATCH_SIZE = 500  # rows in a transaction: short, so that other writers do not wait long
USERS: Table = User.__table__
MEMBERSHIPS = {WorkspaceMember.__table__, WorkspaceInvitation.__table__}
PERSONAL = {model.__table__ for model in cast("list[Any]", PersonalRow.__subclasses__())}
# tables whose rows are a workspace's and say who made them: these stay in a workspace that others use
OWNED: list[Table] = [
    table
    for table in User.metadata.sorted_tables
    if {"workspace_id", "user_id"} <= set(table.c.keys()) and table not in PERSONAL | MEMBERSHIPS
]

log = logging.getLogger(__name__)
errors = ErrorBoundary("deleted users")


def purge(session: Session, settings: Settings) -> int:
    """Purges all workspaces and users whose 30 days are over; returns how many users they were."""
    for model in (Workspace, User):
        over = select(model.id).where(model.deleted_datetime <= now() - RETENTION).order_by(model.id)
        found = session.scalars(over).all()
        session.rollback()
        for id_ in found:
            errors.run((model.__tablename__, id_), PURGES[model], session, settings, id_)
            session.rollback()
    errors.run("late clicks", erase_late_clicks, session, settings)
    session.rollback()
    return len(found)


def erase_late_clicks(session: Session, settings: Settings) -> None:
    """Erases clicks that were ingested after their workspace was purged, as from a rescued journal, and
    events that were on their way to the feed then."""
    found = erasure.owners_with_clicks(settings)
    there = set(session.scalars(select(Workspace.id)))
    session.rollback()
    for id_ in sorted(found - there):
        erasure.erase_clicks(settings, id_, ())


def purge_workspace(session: Session, settings: Settings, workspace_id: int) -> None:
    erasure.erase_clicks(settings, workspace_id, links_of(session, workspace_id))
    for remove in removals(Workspace.__table__):
        while remove(session, settings, workspace_id):
            pass
    finish_workspace(session, workspace_id)
    log.info("The workspace %d, deleted %d days ago, is purged", workspace_id, RETENTION.days)


def purge_user(session: Session, settings: Settings, user_id: int) -> None:
    for workspace_id in workspaces_with(session, user_id):
        heir = heir_of(session, workspace_id, user_id)
        session.rollback()
        if heir is None:  # it was the user's alone in the end, however it came to that
            purge_workspace(session, settings, workspace_id)
        else:
            hand_over(session, workspace_id, user_id, heir)
    for remove in removals(USERS):
        while remove(session, settings, user_id):
            pass
    finish(session, user_id)
    log.info("The user %d, deleted %d days ago, is purged", user_id, RETENTION.days)


def hand_over(session: Session, workspace_id: int, user_id: int, heir: int) -> None:
    """What the user made in a shared workspace stays in it, as another member's."""
    for table in OWNED:
        mine = table.c.workspace_id == workspace_id, table.c.user_id == user_id
        key = next(iter(table.primary_key))
        while True:
            begin_write(session)
            some = select(key).where(*mine).limit(BATCH_SIZE)
            changed = update(table).where(key.in_(some)).values(user_id=heir)
            count = session.connection().execute(changed).rowcount
            session.commit()
            if not count:
                break


def workspaces_with(session: Session, user_id: int) -> list[int]:
    """The workspaces where the user is a member, or was one and has left rows."""
    found = {
        id_
        for table in [WorkspaceMember.__table__, *OWNED]
        for id_ in session.scalars(select(table.c.workspace_id).where(table.c.user_id == user_id).distinct())
    }
    session.rollback()
    return sorted(found)


def links_of(session: Session, workspace_id: int) -> Iterator[Sequence[int]]:
    """Ids of a workspace's links in batches: existing ones, those in the trash, and those with a history."""
    trashed = Trashed.workspace_id == workspace_id, Trashed.kind == Link.__tablename__
    for column, *mine in (
        (Link.id, Link.workspace_id == workspace_id),
        (Trashed.row_id, *trashed),
        (LinkChange.link_id, LinkChange.workspace_id == workspace_id),
    ):
        last = 0
        while True:
            some = select(column).where(*mine, column > last).distinct().order_by(column).limit(BATCH_SIZE)
            ids = session.scalars(some).all()
            session.rollback()
            if not ids:
                break
            last = ids[-1]
            yield ids


Remove = Callable[[Session, Settings, int], int]  # the last is the id of the workspace or the user


def removals(root: Table) -> Iterator[Remove]:
    """The steps in their order; each call removes one batch and returns how many rows it had."""
    if root is not USERS:
        yield remove_links
        yield remove_trash
        yield remove_deliveries
        yield remove_failed_rows
        yield remove_preview_rows
        yield remove_tables
        yield by_column(Alias.__table__, Alias.__table__.c.workspace_id)
        yield by_column(EventDraft.__table__, EventDraft.__table__.c.workspace_id)
    for table in reversed(User.metadata.sorted_tables):
        for key in table.foreign_keys:
            if key.column.table is root and key.ondelete == "CASCADE":
                yield by_column(table, key.parent)


def remove_links(session: Session, _settings: Settings, workspace_id: int) -> int:
    """Removes links, their files first: these can't be restored. The aliases are free again at once."""
    begin_write(session)
    columns = [getattr(Link, name) for name in PICTURES]
    found = session.execute(
        select(Link.id, *columns).where(Link.workspace_id == workspace_id).limit(BATCH_SIZE)
    ).all()
    uploads.remove(session, (name for _, *names in found for name in names if name))
    ids = [id_ for id_, *_ in found]
    previous_uploads.remove(session, ids)
    for model, column in ((Alias, Alias.link_id), (LinkChange, LinkChange.link_id), (Link, Link.id)):
        session.execute(delete(model).where(column.in_(ids)))
    session.commit()
    return len(ids)


def remove_trash(session: Session, _settings: Settings, workspace_id: int) -> int:
    begin_write(session)
    mine = (
        select(Trashed)
        .where(Trashed.workspace_id == workspace_id)
        .options(undefer(Trashed.rows))
        .limit(BATCH_SIZE)
    )
    found = session.scalars(mine).all()
    uploads.remove(session, removal.pictures_of(found))
    previous_uploads.remove(session, removal.links_of(found))
    session.execute(delete(Trashed).where(Trashed.id.in_([one.id for one in found])))
    session.commit()
    return len(found)


def remove_deliveries(session: Session, _settings: Settings, workspace_id: int) -> int:
    """Removes deliveries before their handlers, because one handler may have very many."""
    handlers = select(NotificationHandler.id).where(NotificationHandler.workspace_id == workspace_id)
    return remove_some(session, Delivery.__table__, Delivery.handler_id.in_(handlers))


def remove_failed_rows(session: Session, _settings: Settings, workspace_id: int) -> int:
    imports = select(LinkImport.id).where(LinkImport.workspace_id == workspace_id)
    return remove_some(session, FailedRow.__table__, FailedRow.import_id.in_(imports))


def remove_preview_rows(session: Session, _settings: Settings, workspace_id: int) -> int:
    imports = select(LinkImport.id).where(LinkImport.workspace_id == workspace_id)
    return remove_some(session, PreviewRow.__table__, PreviewRow.import_id.in_(imports))


def remove_tables(session: Session, settings: Settings, workspace_id: int) -> int:
    """Removes the files of imports. A process that still reads one finds its import ended."""
    names = session.scalars(select(LinkImport.file).where(LinkImport.workspace_id == workspace_id)).all()
    session.rollback()
    files.remove(session, names)
    for name in names:
        files.path_of(settings.data_dir, name).unlink(missing_ok=True)
    return 0


def by_column(table: Table, column: ColumnElement[Any]) -> Remove:
    return lambda session, _settings, id_: remove_some(session, table, column == id_)


def remove_some(session: Session, table: Table, condition: ColumnElement[bool]) -> int:
    key = list(table.primary_key)
    begin_write(session)
    some = select(*key).where(condition).limit(BATCH_SIZE)
    is_one = len(key) == 1
    gone = (key[0] if is_one else tuple_(*key)).in_(some)
    found = session.connection().execute(delete(table).where(gone)).rowcount
    session.commit()
    return found


def finish_workspace(session: Session, workspace_id: int) -> None:
    """Removes the workspace's row, and the rows added in the meantime. Its hosts are free again."""
    begin_write(session)
    for model in (Alias, EventDraft):
        session.execute(delete(model).where(model.workspace_id == workspace_id))
    session.execute(delete(Workspace).where(Workspace.id == workspace_id))
    session.execute(insert(PlanChange.__table__), [{"domain_id": None, "alias": None}])
    session.commit()


def finish(session: Session, user_id: int) -> None:
    """Removes the user's row, and the rows added in the meantime."""
    begin_write(session)
    record(session, "user.purged", account=session.get(User, user_id), owner_id=user_id)
    session.execute(delete(User).where(User.id == user_id))
    session.commit()


PURGES: Mapping[Any, Callable[[Session, Settings, int], None]] = {
    Workspace: purge_workspace,
    User: purge_user,
}
