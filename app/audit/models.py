"""Audit log: what happened to accounts and to the instance, kept for a year and never changed.

Triggers in the database refuse every UPDATE, and every DELETE of an entry that is younger than
`audit_retention.days` (docs/decisions/2026-11-22-audit-log.md). No foreign keys: an entry outlives the
account and the object that it is about.
"""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import JSON, CheckConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import now
from app.core.database import Id, UtcDateTime
from app.core.extensions import db

# Messages by names, in tables: `groups`, `actions` of each group, `reasons`, `methods` and `labels`.
TABLE = tomllib.loads((Path(__file__).parent / "actions.toml").read_text("utf-8"))
GROUPS: Mapping[str, str] = TABLE["groups"]
USERS, DELETIONS = "users", "deletions"
CONTENT = ("member.", "workspace.", "handler.", "share.", "domain.")


class Action(NamedTuple):
    """`is_content`: the action's object belongs to an owner (a link, a handler …). Admins see neither its
    name nor what changed, as they see no links of others."""

    label: str
    group: str
    is_content: bool


ACTIONS: Mapping[str, Action] = {
    name: Action(label, group, is_content=group == DELETIONS or name.startswith(CONTENT))
    for group, labels in TABLE["actions"].items()
    for name, label in labels.items()
}


MIN_RETENTION_DAYS = 30


class AuditEntry(db.Model):
    """One event, or `count` equal ones.

    `account_*`: the account that it is about. `actor_*`: who did it. `actor_way` is an Actor's `way`; without
    a user the actor was a visitor of the sign-in page, the operator or Waypost itself. `network`: a /24 or
    a /48. `workspace_id`: the workspace that it happened in, None where it is about an account alone.
    """

    __table_args__ = (
        Index(None, "account_id", "id"),
        Index(None, "actor_id", "id"),
        Index(None, "workspace_id", "id"),
        Index(None, "datetime"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    datetime: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
    action: Mapped[str] = mapped_column(String(48))
    count: Mapped[int] = mapped_column(default=1)
    account_id: Mapped[int | None] = mapped_column(Id)
    account_email: Mapped[str] = mapped_column(String(320), default="")
    workspace_id: Mapped[int | None] = mapped_column(Id)
    actor_id: Mapped[int | None] = mapped_column(Id)
    actor_email: Mapped[str] = mapped_column(String(320), default="")
    actor_way: Mapped[str] = mapped_column(String(16), default="")
    actor_name: Mapped[str] = mapped_column(String(320), default="")
    key_prefix: Mapped[str] = mapped_column(String(11), default="")
    object_type: Mapped[str] = mapped_column(String(48), default="")
    object_id: Mapped[int | None] = mapped_column(Id)
    object_name: Mapped[str] = mapped_column(String(256), default="")
    # what changed, as {"name": value} or {"name": [before, after]}; never a secret
    changes: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    network: Mapped[str] = mapped_column(String(43), default="")
    request_id: Mapped[str] = mapped_column(String(64), default="")


class AuditRetention(db.Model):
    """The number of days for which the triggers protect an entry. The worker copies it from the settings."""

    __table_args__ = (
        CheckConstraint("id = 1", "one_row"),
        CheckConstraint(f"days >= {MIN_RETENTION_DAYS}", "at_least"),
    )

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=1)
    days: Mapped[int]
