"""Audited actions: their names, their groups, and which of them are about an owner's content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

SIGN_INS, KEYS, USERS, MEMBERS = "sign-ins", "keys", "users", "members"
SETTINGS, DOMAINS, EXPORTS, DELETIONS = "settings", "domains", "exports", "deletions"

GROUPS = (SIGN_INS, KEYS, USERS, MEMBERS, SETTINGS, DOMAINS, EXPORTS, DELETIONS)


class Action(NamedTuple):
    """`is_content`: the action's object belongs to an owner (a link, a handler …). Admins see neither its
    name nor what changed, as they see no links of others."""

    group: str
    is_content: bool = False


ACTIONS: Mapping[str, Action] = {
    "sign_in": Action(SIGN_INS),
    "sign_in.failed": Action(SIGN_INS),
    "sign_out": Action(SIGN_INS),
    "identity.allowed": Action(SIGN_INS),
    "identity.linked": Action(SIGN_INS),
    "identity.unlinked": Action(SIGN_INS),
    "sign_in_link.created": Action(SIGN_INS),
    "session.ended": Action(SIGN_INS),
    "proof.failed": Action(SIGN_INS),
    "api_key.refused": Action(SIGN_INS),
    "api_key.created": Action(KEYS),
    "api_key.revoked": Action(KEYS),
    "user.created": Action(USERS),
    "user.made_admin": Action(USERS),
    "user.unmade_admin": Action(USERS),
    "user.disabled": Action(USERS),
    "user.enabled": Action(USERS),
    "user.deleted": Action(USERS),
    "user.restored": Action(USERS),
    "user.purged": Action(USERS),
    "invitation.created": Action(USERS),
    "invitation.revoked": Action(USERS),
    "member.invited": Action(MEMBERS, is_content=True),
    "member.invitation_revoked": Action(MEMBERS, is_content=True),
    "member.joined": Action(MEMBERS, is_content=True),
    "member.role_changed": Action(MEMBERS, is_content=True),
    "member.removed": Action(MEMBERS, is_content=True),
    "workspace.created": Action(MEMBERS, is_content=True),
    "workspace.renamed": Action(MEMBERS, is_content=True),
    "workspace.deleted": Action(MEMBERS, is_content=True),
    "workspace.restored": Action(MEMBERS, is_content=True),
    "user.updated": Action(SETTINGS),
    "password.reset_requested": Action(SETTINGS),
    "password.changed": Action(SETTINGS),
    "email.changed": Action(SETTINGS),
    "two_factor.enabled": Action(SETTINGS),
    "two_factor.disabled": Action(SETTINGS),
    "authenticator_app.added": Action(SETTINGS),
    "authenticator_app.removed": Action(SETTINGS),
    "passkey.added": Action(SETTINGS),
    "passkey.renamed": Action(SETTINGS),
    "passkey.removed": Action(SETTINGS),
    "recovery_codes.renewed": Action(SETTINGS),
    "handler.created": Action(SETTINGS, is_content=True),
    "handler.updated": Action(SETTINGS, is_content=True),
    "handler.secret_renewed": Action(SETTINGS, is_content=True),
    "handler.switched_off": Action(SETTINGS, is_content=True),
    "handler.unsubscribed": Action(SETTINGS, is_content=True),
    "handler.subscription_ended": Action(SETTINGS, is_content=True),
    "share.created": Action(SETTINGS, is_content=True),
    "share.changed": Action(SETTINGS, is_content=True),
    "share.revoked": Action(SETTINGS, is_content=True),
    "secret_key.rotated": Action(SETTINGS),
    "secret_key.adopted": Action(SETTINGS),
    "domain.created": Action(DOMAINS, is_content=True),
    "domain.updated": Action(DOMAINS, is_content=True),
    "domain.verified": Action(DOMAINS, is_content=True),
    "domain.lost": Action(DOMAINS, is_content=True),
    "domain.deleted": Action(DOMAINS, is_content=True),
    "links.exported": Action(EXPORTS),
    "failed_rows.exported": Action(EXPORTS),
    "statistics.exported": Action(EXPORTS),
    "archive.requested": Action(EXPORTS),
    "archive.downloaded": Action(EXPORTS),
    "audit_log.exported": Action(EXPORTS),
    "link.deleted": Action(DELETIONS, is_content=True),
    "pixel.deleted": Action(DELETIONS, is_content=True),
    "notification_handler.deleted": Action(DELETIONS, is_content=True),
    "project.deleted": Action(DELETIONS, is_content=True),
    "link.restored": Action(DELETIONS, is_content=True),
    "pixel.restored": Action(DELETIONS, is_content=True),
    "notification_handler.restored": Action(DELETIONS, is_content=True),
    # the same in entries of versions before
    "handler.restored": Action(DELETIONS, is_content=True),
    "trash.purged": Action(DELETIONS, is_content=True),
}
