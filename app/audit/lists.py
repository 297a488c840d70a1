"""What a reader sees of the audit log: which entries, in which lists, and which of their values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, or_, select

from app.audit.models import ACTIONS, GROUPS, AuditEntry
from app.core.clock import format_utc
from app.core.database import AnySession
from app.input.listing import Listing, contains, one_of, until
from app.input.params import QueryParams
from app.input.parsers import parse_datetime

PAGE_SIZE = 50
BATCH_SIZE = 1000  # rows of an export in one read


class AuditReader(NamedTuple):
    """The reader of entries: a user (their own), or with `user_id` None an admin (the instance's).

    `workspace_id`: the workspace that the user reads the entries of as one of its owners.
    """

    user_id: int | None
    workspace_id: int | None = None

    def sees_content(self) -> bool:
        """Admins see no workspace's content: neither the names of links and other rows, nor their changes."""
        return self.user_id is not None

    def sees_actor(self, entry: AuditEntry) -> bool:
        """Users see neither other actors nor their networks, save owners those in their workspace.

        Failed tries, without an actor, show theirs.
        """
        is_in_own = self.workspace_id is not None and entry.workspace_id == self.workspace_id
        return self.user_id is None or is_in_own or entry.actor_id in {None, self.user_id}


def visible_values(entry: AuditEntry, reader: AuditReader) -> dict[str, Any]:
    """All columns of an entry that this reader may see, as an export has them."""
    action = ACTIONS.get(entry.action)
    hides_content = not reader.sees_content() and (action is None or action.is_content)
    hides_actor = not reader.sees_actor(entry)
    return {
        "id": entry.id,
        "datetime": format_utc(entry.datetime),
        "action": entry.action,
        "count": entry.count,
        "account_id": entry.account_id,
        "account_email": entry.account_email,
        "workspace_id": entry.workspace_id,
        "actor_way": entry.actor_way,
        "actor_id": None if hides_actor else entry.actor_id,
        "actor_email": "" if hides_actor else entry.actor_email,
        "actor_name": "" if hides_actor else entry.actor_name,
        "key_prefix": "" if hides_actor else entry.key_prefix,
        "object_type": entry.object_type,
        "object_id": entry.object_id,
        "object_name": "" if hides_content else entry.object_name,
        "changes": {} if hides_content else entry.changes,
        "network": "" if hides_actor else entry.network,
        "request_id": "" if hides_actor else entry.request_id,
    }


def concerns(user_id: int | None) -> ColumnElement[bool]:
    """The entries about this user, and those of what they did."""
    return or_(AuditEntry.account_id == user_id, AuditEntry.actor_id == user_id)


def readable_in(workspace_id: int, reader: AuditReader) -> ColumnElement[bool]:
    """What a user may read in one workspace: what concerns them there or in none, and owners all of it."""
    is_here, is_outside = AuditEntry.workspace_id == workspace_id, AuditEntry.workspace_id.is_(None)
    own = concerns(reader.user_id)
    if reader.workspace_id == workspace_id:
        return or_(is_here, and_(is_outside, own))
    return and_(or_(is_here, is_outside), own)


def is_of_group(group: str) -> ColumnElement[bool]:
    return AuditEntry.action.in_([name for name, action in ACTIONS.items() if action.group == group])


def log_of(workspace_id: int, reader: AuditReader) -> Listing[AuditEntry]:
    """The list of all entries that this user may read in the workspace."""

    def by_actor(text: str, params: QueryParams) -> ColumnElement[bool]:  # noqa: ARG001
        # who else did something is found only where it is shown
        is_shown = AuditEntry.actor_id == reader.user_id
        if reader.workspace_id is not None:
            is_shown = or_(is_shown, AuditEntry.workspace_id == reader.workspace_id)
        return and_(is_shown, contains(text, AuditEntry.actor_email))

    return Listing(
        model=AuditEntry,
        filters={
            "group": lambda text, params: is_of_group(one_of([*GROUPS])(text)),  # noqa: ARG005
            "action": lambda text, params: AuditEntry.action == one_of([*ACTIONS])(text),  # noqa: ARG005
            "actor_email": by_actor,
            "datetime_start": lambda text, params: AuditEntry.datetime >= parse_datetime(text),  # noqa: ARG005
            "datetime_end": lambda text, params: until(AuditEntry.datetime, text),  # noqa: ARG005
        },
        orders={"audit_entry_id": AuditEntry.id, "datetime": AuditEntry.datetime},
        mine=readable_in(workspace_id, reader),
    )


# --- the log as pages and files


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
