"""What a reader sees of an audit entry: pages, exports and the API show these values and no others."""

from __future__ import annotations

from typing import Any, NamedTuple

from app.audit.actions import ACTIONS
from app.audit.models import AuditEntry
from app.core.clock import format_utc


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
