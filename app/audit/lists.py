"""The audit log as a list: whose entries it has, its filters and orders."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, or_

from app.audit.actions import ACTIONS, GROUPS
from app.audit.models import AuditEntry
from app.audit.visibility import AuditReader
from app.input.listing import Listing, contains, one_of, until
from app.input.params import QueryParams
from app.input.parsers import parse_datetime


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
            "group": lambda text, params: is_of_group(one_of(GROUPS)(text)),  # noqa: ARG005
            "action": lambda text, params: AuditEntry.action == one_of([*ACTIONS])(text),  # noqa: ARG005
            "actor_email": by_actor,
            "datetime_start": lambda text, params: AuditEntry.datetime >= parse_datetime(text),  # noqa: ARG005
            "datetime_end": lambda text, params: until(AuditEntry.datetime, text),  # noqa: ARG005
        },
        orders={"audit_entry_id": AuditEntry.id, "datetime": AuditEntry.datetime},
        mine=readable_in(workspace_id, reader),
    )
