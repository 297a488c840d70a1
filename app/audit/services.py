"""Records audit entries with the changes that they are about, logs them, and deletes old ones."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple, Protocol

import structlog
from sqlalchemy import delete, event, select
from sqlalchemy.orm import Session, SessionTransaction

from app.audit.models import ACTIONS, AuditEntry, AuditRetention
from app.core.actor import acting, origin
from app.core.clock import now
from app.core.database import AnySession, begin_write

PENDING = "audit_entries"
BATCH_SIZE = 500  # deleted in a transaction, so that other writers get their turn
# fields of an entry that its log line has. E-mail addresses and names stay in the database, and every line
# has the id of the request anyway
LOGGED = (
    *("count", "account_id", "workspace_id", "actor_id", "actor_way", "key_prefix"),
    *("object_type", "object_id", "network"),
)
# changes whose values a log line has; of all others it has only the names
LOGGED_CHANGES = {
    *("reason", "method", "scope", "key", "format", "report", "type", "is_admin", "fields", "changes_members")
}

log = structlog.stdlib.get_logger("waypost.audit")


class Account(Protocol):
    """The attributes of a user that an entry stores."""

    id: Any
    email: Any


class Object(NamedTuple):
    """The object of an action: a table's name, the row's id, and a display name."""

    type: str
    id: int | None = None
    name: str = ""


NO_OBJECT = Object("")


def record(
    session: AnySession,
    action: str,
    *,
    account: Account | None = None,
    owner_id: int | None = None,
    workspace_id: int | None = None,
    on: Object = NO_OBJECT,
    count: int = 1,
    **changes: Any,
) -> None:
    """Add an entry to the caller's transaction.

    It is about `account`, or the account with the id `owner_id`, or else the actor's own, in the workspace
    `workspace_id` or else the actor's. `changes` must hold no secret: the name of a setting, never its value.
    """
    if action not in ACTIONS:
        raise ValueError(action)
    actor = acting(session)
    account_id = account.id if account is not None else owner_id or actor.user_id
    is_own = account is None and account_id == actor.user_id
    entry = AuditEntry(
        action=action,
        count=count,
        account_id=account_id,
        account_email=account.email if account is not None else actor.email if is_own else "",
        workspace_id=actor.workspace_id if workspace_id is None else workspace_id,
        object_type=on.type,
        object_id=on.id,
        object_name=on.name[:256],
        changes=changes,
        **by_whom(session),
    )
    session.add(entry)
    session.info.setdefault(PENDING, []).append(entry_values(entry))


def by_whom(session: AnySession) -> dict[str, Any]:
    """The actor's columns: who, by which way and key, from which network."""
    actor, came = acting(session), origin(session)
    return {
        "actor_id": actor.user_id,
        "actor_email": actor.email,
        "actor_way": actor.way,
        "actor_name": actor.name[:320],
        "key_prefix": actor.key_prefix,
        "network": came.network,
        "request_id": came.request_id,
    }


def entry_values(entry: AuditEntry) -> dict[str, Any]:
    values = {name: getattr(entry, name) for name in LOGGED}
    changes = {name: value if name in LOGGED_CHANGES else "changed" for name, value in entry.changes.items()}
    values["changes"] = changes
    return {"action": entry.action} | {name: value for name, value in values.items() if value}


def log_entry(values: dict[str, Any]) -> None:
    """Write one structured log line with ids, but no IP address, no e-mail address and no secret."""
    log.info("audit", **values)


@event.listens_for(Session, "after_commit")
def log_committed(session: Session) -> None:
    if session.get_nested_transaction() is None:
        for values in session.info.pop(PENDING, ()):
            log_entry(values)


@event.listens_for(Session, "after_transaction_end")
def forget_rolled_back(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        session.info.pop(PENDING, None)


def delete_old_entries(session: Session, days: int) -> int:
    """Delete entries older than `days` and return how many. Nothing else can delete any.

    First stores for how long the triggers protect an entry.
    """
    begin_write(session)
    session.merge(AuditRetention(id=1, days=days))
    session.commit()
    # a second less: the triggers use the database's clock, which may be a moment behind this one
    old = AuditEntry.datetime < now() - dt.timedelta(days=days, seconds=1)
    gone = 0
    while ids := session.scalars(
        select(AuditEntry.id).where(old).order_by(AuditEntry.id).limit(BATCH_SIZE)
    ).all():
        begin_write(session)
        session.execute(delete(AuditEntry).where(AuditEntry.id.in_(ids)))
        session.commit()
        gone += len(ids)
    session.rollback()
    return gone
