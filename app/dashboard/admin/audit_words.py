"""Words for audit entries, without what the reader must not see."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.accounts.keys import SCOPES
from app.audit import actions
from app.audit.actions import ACTIONS
from app.audit.failures import ACTIONS as FAILURES
from app.audit.models import AuditEntry
from app.core.clock import format_utc
from app.dashboard.links.states import Badge
from app.i18n import say

GROUP_LABELS: Mapping[str, str] = {
    actions.SIGN_INS: "Sign-ins",
    actions.KEYS: "API keys",
    actions.USERS: "Users and roles",
    actions.SETTINGS: "Settings",
    actions.DOMAINS: "Domains",
    actions.EXPORTS: "Exports",
    actions.DELETIONS: "Deletions",
}
ACTION_LABELS: Mapping[str, str] = {
    "sign_in": "Signed in",
    "sign_in.failed": "Sign-in failed",
    "sign_out": "Signed out",
    "session.ended": "Signed out another browser",
    "proof.failed": "Wrong password or code in an open session",
    "api_key.refused": "API key refused",
    "api_key.created": "API key created",
    "api_key.revoked": "API key revoked",
    "user.created": "User created",
    "user.made_admin": "Made admin",
    "user.unmade_admin": "Admin rights taken away",
    "user.disabled": "User disabled",
    "user.enabled": "User enabled",
    "user.deleted": "User deleted",
    "user.restored": "User restored",
    "user.purged": "User deleted for good",
    "invitation.created": "Invitation created",
    "invitation.revoked": "Invitation revoked",
    "password.reset_requested": "New password requested by e-mail",
    "password.changed": "Password changed",
    "email.changed": "E-mail address changed",
    "two_factor.enabled": "Two-factor switched on",
    "two_factor.disabled": "Two-factor switched off",
    "recovery_codes.renewed": "Recovery codes renewed",
    "handler.created": "Handler created",
    "handler.updated": "Handler changed",
    "handler.secret_renewed": "Handler's secret renewed",
    "handler.restored": "Handler restored",
    "handler.switched_off": "Deliveries switched off",
    "secret_key.rotated": "Secret key rotated",
    "secret_key.adopted": "Went on with another secret key",
    "domain.created": "Domain created",
    "domain.updated": "Domain changed",
    "domain.verified": "Domain verified",
    "domain.lost": "Domain verified by somebody else",
    "domain.deleted": "Domain deleted",
    "links.exported": "Links exported",
    "failed_rows.exported": "Failed rows of an import exported",
    "statistics.exported": "Statistics exported",
    "archive.requested": "Download of all data requested",
    "archive.downloaded": "All data downloaded",
    "audit_log.exported": "Audit log exported",
    "link.deleted": "Link deleted",
    "pixel.deleted": "Pixel deleted",
    "notification_handler.deleted": "Handler deleted",
    "project.deleted": "Project deleted",
    "trash.purged": "Deleted for good from the trash",
}
REASONS: Mapping[str, str] = {
    "wrong_password": "Wrong password",
    "unknown_account": "No account has this address",
    "wrong_code": "Wrong code",
    "too_many_tries": "Too many tries",
    "disabled_or_deleted": "The account is disabled or deleted",
    "wrong_key": "The key is unknown, revoked or expired",
    "many": "From many networks, or for many accounts",
}
METHODS: Mapping[str, str] = {
    "password": "With the password",
    "app": "With a code of the authenticator app",
    "recovery": "With a recovery code",
}
LABELS: Mapping[str, str] = {
    "key": "Key",
    "format": "Format",
    "report": "Report",
    "is_admin": "Admin",
    "email": "E-mail",
    "fields": "Changed",
    "type": "Type",
    "reason": "Reason",
    "method": "Method",
    "host": "Host",
    "fingerprint": "Fingerprint",
}
WORDS: Mapping[str, Mapping[str, str]] = {"reason": REASONS, "method": METHODS, "scope": SCOPES}
OPERATOR, WAYPOST, NOBODY = "The operator, on the command line", "Waypost", "Somebody who is not signed in"
OTHER_USER = "Another user of this Waypost"


class EntryWords(NamedTuple):
    """One entry as a page shows it."""

    id: int
    moment: dt.datetime
    state: Badge
    times: int
    actor: str
    account: str
    about: str
    details: list[str]
    network: str


class AuditReader(NamedTuple):
    """The reader of entries: a user (their own), or with `user_id` None an admin (the instance's)."""

    user_id: int | None

    def sees_content(self) -> bool:
        """Admins see no owner's content: neither the names of links and other rows, nor their changes."""
        return self.user_id is not None

    def sees_actor(self, entry: AuditEntry) -> bool:
        """Owners see neither other actors nor their networks. Failed tries, without an actor, show theirs."""
        return self.user_id is None or entry.actor_id in {None, self.user_id}


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


def describe_entry(entry: AuditEntry, reader: AuditReader) -> EntryWords:
    seen = visible_values(entry, reader)
    return EntryWords(
        entry.id,
        entry.datetime,
        Badge(say(ACTION_LABELS.get(entry.action, entry.action)), tone_of(entry.action)),
        entry.count,
        describe_actor(entry, reader),
        entry.account_email if reader.user_id is None or entry.account_id != reader.user_id else "",
        seen["object_name"],
        list(describe_changes(seen["changes"])),
        seen["network"],
    )


def tone_of(action: str) -> str:
    if action in FAILURES or action == "handler.switched_off":
        return "bad"
    known = ACTIONS.get(action)
    return "warn" if known and (known.group == actions.USERS or action.endswith(".deleted")) else "info"


def describe_actor(entry: AuditEntry, reader: AuditReader) -> str:
    if not reader.sees_actor(entry):
        return say(OTHER_USER)
    if entry.actor_way == "api" and entry.actor_id is not None:
        return f"{entry.actor_email} ({entry.actor_name}, {entry.key_prefix}…)"
    if entry.actor_id is not None:
        return entry.actor_email
    if entry.actor_way == "command":
        return f"{say(OPERATOR)} ({entry.actor_name})"
    return say(NOBODY if entry.network else WAYPOST)


def describe_changes(changes: Mapping[str, Any]) -> Iterator[str]:
    for name, value in changes.items():
        label = say(LABELS[name]) if name in LABELS else name
        if name in WORDS and value in WORDS[name]:
            yield say(WORDS[name][value])
        elif name == "fields":
            yield f"{label}: {', '.join(value)}"
        elif isinstance(value, list) and len(value) == 2:
            yield f"{label}: {value_text(value[0])} → {value_text(value[1])}"
        else:
            yield f"{label}: {value_text(value)}"


def value_text(value: Any) -> str:
    if isinstance(value, bool):
        return say("Yes" if value else "No")
    if value is None or value == "":
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
