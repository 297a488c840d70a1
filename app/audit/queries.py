"""Reads the audit log: an account's own entries, a workspace's, or the instance's, filtered, newest first."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, or_, select

from app.audit.lists import concerns, is_of_group
from app.audit.models import AuditEntry
from app.core.database import AnySession

PAGE_SIZE = 50
BATCH_SIZE = 1000  # rows of an export in one read


@dataclass(frozen=True, kw_only=True)
class AuditQuery:
    """Filters of the audit log.

    `user_id`: entries about or by this user. `workspace_id`: entries of this workspace. None: of all.
    `first` to `last`: moments, the last excluded. `before`: only entries with a lower id, for the next page.
    """

    user_id: int | None = None
    workspace_id: int | None = None
    group: str = ""
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    email: str = ""
    before: int | None = None


def select_entries(query: AuditQuery) -> Select[AuditEntry]:
    found = select(AuditEntry).order_by(AuditEntry.id.desc())
    if query.user_id is not None:
        found = found.where(concerns(query.user_id))
    if query.workspace_id is not None:
        found = found.where(AuditEntry.workspace_id == query.workspace_id)
    if query.group:
        found = found.where(is_of_group(query.group))
    if query.email:
        text = query.email.lower()
        columns = (AuditEntry.account_email, AuditEntry.actor_email)
        found = found.where(or_(*(column.contains(text, autoescape=True) for column in columns)))
    if query.first is not None:
        found = found.where(AuditEntry.datetime >= query.first)
    if query.last is not None:
        found = found.where(AuditEntry.datetime < query.last)
    return found if query.before is None else found.where(AuditEntry.id < query.before)


def find_entries(session: AnySession, query: AuditQuery) -> tuple[Sequence[AuditEntry], int | None]:
    """One page of entries, and `before` for the next page, which is None on the last."""
    rows = session.scalars(select_entries(query).limit(PAGE_SIZE + 1)).all()
    page = rows[:PAGE_SIZE]
    return page, page[-1].id if len(rows) > PAGE_SIZE else None


def iterate_entries(session: AnySession, query: AuditQuery) -> Iterator[AuditEntry]:
    """All entries, read in batches, so that no read transaction is open for long."""
    before = query.before
    while True:
        page = AuditQuery(**{**query.__dict__, "before": before})
        rows = session.scalars(select_entries(page).limit(BATCH_SIZE)).all()
        session.expunge_all()
        session.rollback()
        yield from rows
        if len(rows) < BATCH_SIZE:
            return
        before = rows[-1].id
