"""Words for audit entries, without what the reader must not see."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.accounts.forms import REPORT_PERIODS
from app.accounts.keys import SCOPES
from app.accounts.rights import ROLES
from app.audit import actions
from app.audit.actions import ACTIONS
from app.audit.failures import ACTIONS as FAILURES
from app.audit.models import AuditEntry
from app.audit.visibility import AuditReader, visible_values
from app.dashboard.links.states import Badge
from app.dashboard.statistics.words import WORDS as DIMENSION_WORDS
from app.i18n.languages import dashboard_languages
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.notifications.transport import all_transports

GROUP_LABELS: Mapping[str, str] = {
    actions.SIGN_INS: _l("Sign-ins"),
    actions.KEYS: _l("API keys"),
    actions.USERS: _l("Users and roles"),
    actions.MEMBERS: _l("Members and workspaces"),
    actions.SETTINGS: _l("Settings"),
    actions.DOMAINS: _l("Domains"),
    actions.EXPORTS: _l("Exports"),
    actions.DELETIONS: _l("Deletions and restores"),
}
ACTION_LABELS: Mapping[str, str] = {
    "sign_in": _l("Signed in"),
    "sign_in.failed": _l("Sign-in failed"),
    "sign_out": _l("Signed out"),
    "identity.allowed": _l("Single sign-on allowed"),
    "identity.linked": _l("Single sign-on linked"),
    "identity.unlinked": _l("Single sign-on unlinked"),
    "sign_in_link.created": _l("One-time sign-in address printed"),
    "session.ended": _l("Session ended"),
    "proof.failed": _l("Wrong password, passkey or code in an open session"),
    "api_key.refused": _l("API key refused"),
    "api_key.created": _l("API key created"),
    "api_key.revoked": _l("API key revoked"),
    "user.created": _l("User created"),
    "user.made_admin": _l("Made admin"),
    "user.unmade_admin": _l("Admin rights taken away"),
    "user.disabled": _l("User disabled"),
    "user.enabled": _l("User enabled"),
    "user.deleted": _l("User deleted"),
    "user.restored": _l("User restored"),
    "user.purged": _l("User deleted for good"),
    "invitation.created": _l("Invitation created"),
    "invitation.revoked": _l("Invitation revoked"),
    "member.invited": _l("Member invited"),
    "member.invitation_revoked": _l("Invitation of a member revoked"),
    "member.joined": _l("Member joined"),
    "member.role_changed": _l("Member's role changed"),
    "member.removed": _l("Member removed"),
    "workspace.created": _l("Workspace created"),
    "workspace.renamed": _l("Workspace renamed"),
    "workspace.deleted": _l("Workspace deleted"),
    "workspace.restored": _l("Workspace restored"),
    "user.updated": _l("Account settings changed"),
    "password.reset_requested": _l("New password requested by e-mail"),
    "password.changed": _l("Password changed"),
    "email.changed": _l("E-mail address changed"),
    "two_factor.enabled": _l("Two-factor turned on"),
    "two_factor.disabled": _l("Two-factor turned off"),
    "authenticator_app.added": _l("Authenticator app added"),
    "authenticator_app.removed": _l("Authenticator app removed"),
    "passkey.added": _l("Passkey added"),
    "passkey.renamed": _l("Passkey renamed"),
    "passkey.removed": _l("Passkey removed"),
    "recovery_codes.renewed": _l("Recovery codes renewed"),
    "handler.created": _l("Handler created"),
    "handler.updated": _l("Handler changed"),
    "handler.secret_renewed": _l("Handler's secret renewed"),
    "handler.switched_off": _l("Deliveries turned off"),
    "handler.unsubscribed": _l("Subscription ended by its target"),
    "handler.subscription_ended": _l("Subscription ended with its API key"),
    "share.created": _l("Share address created"),
    "share.changed": _l("Share address changed"),
    "share.revoked": _l("Share address revoked"),
    "secret_key.rotated": _l("Secret key rotated"),
    "secret_key.adopted": _l("Continued with another secret key"),
    "domain.created": _l("Domain created"),
    "domain.updated": _l("Domain changed"),
    "domain.verified": _l("Domain verified"),
    "domain.lost": _l("Domain verified by another user"),
    "domain.deleted": _l("Domain deleted"),
    "links.exported": _l("Links exported"),
    "failed_rows.exported": _l("Failed rows of an import exported"),
    "statistics.exported": _l("Statistics exported"),
    "archive.requested": _l("Download of all data requested"),
    "archive.downloaded": _l("All data downloaded"),
    "audit_log.exported": _l("Audit log exported"),
    "link.deleted": _l("Link deleted"),
    "pixel.deleted": _l("Pixel deleted"),
    "notification_handler.deleted": _l("Handler deleted"),
    "project.deleted": _l("Project deleted"),
    "link.restored": _l("Link restored"),
    "pixel.restored": _l("Pixel restored"),
    "notification_handler.restored": _l("Handler restored"),
    "handler.restored": _l("Handler restored"),
    "trash.purged": _l("Deleted for good from the trash"),
}
REASONS: Mapping[str, str] = {
    "wrong_password": _l("Wrong password"),
    "unknown_account": _l("No account has this address"),
    "wrong_code": _l("Wrong code"),
    "wrong_passkey": _l("The passkey proved nothing"),
    "unknown_passkey": _l("No account has this passkey"),
    "replayed_passkey": _l("The passkey's answer was used before"),
    "cloned_passkey": _l("The passkey counts backwards: there may be a copy of it"),
    "too_many_tries": _l("Too many tries"),
    "disabled_or_deleted": _l("The account is disabled or deleted"),
    "provider": _l("Signed out at the provider of single sign-on"),
    "provider_down": _l("The provider of single sign-on did not answer"),
    "provider_refused": _l("The provider of single sign-on refused"),
    "expired_sign_in": _l("The sign-in had expired, was used already or began in another browser"),
    "invalid_token": _l("The answer of the provider of single sign-on was not valid"),
    "unverified_email": _l("The provider of single sign-on does not confirm the e-mail address"),
    "no_account": _l("No account, and no invitation"),
    "not_linked": _l("The account is not linked to single sign-on"),
    "other_identity": _l("The account is linked to another identity"),
    "not_recent": _l("No fresh sign-in at the provider of single sign-on"),
    "expired_link": _l("The one-time sign-in address is used or expired"),
    "password_off": _l("Passwords are off on this instance"),
    "wrong_key": _l("The key is unknown, revoked or expired"),
    "many": _l("From many networks, or for many accounts"),
}
METHODS: Mapping[str, str] = {
    "password": _l("With the password"),
    "app": _l("With a code of the authenticator app"),
    "recovery": _l("With a recovery code"),
    "passkey": _l("With a passkey"),
    "password_and_passkey": _l("With the password and a passkey"),
    "oidc": _l("By single sign-on"),
    "link": _l("With a one-time address of the operator"),
}
LABELS: Mapping[str, str] = {
    "key": _l("Key"),
    "format": _l("Format"),
    "report": _l("Report"),
    "is_admin": _l("Admin"),
    "changes_members": _l("Change members"),
    "email": _l("E-mail"),
    "name": _l("Name"),
    "fields": _l("Changed"),
    "timezone": _l("Time zone"),
    "language": _l("Language"),
    "report_period": _l("Reports"),
    "report_hour": _l("Hour of reports"),
    "checks_destinations": _l("Check destinations"),
    "fetches_favicons": _l("Show icons of destinations"),
    "role": _l("Role"),
    "type": _l("Type"),
    "reason": _l("Reason"),
    "method": _l("Method"),
    "host": _l("Host"),
    "fingerprint": _l("Fingerprint"),
    "scheme": _l("Scheme"),
    "custom_index_url": _l("Root redirect"),
    "custom_not_found_url": _l("404 redirect"),
    "is_enabled": _l("Enabled"),
    "events": _l("Events"),
    "scope": _l("Of which links"),
    "click_filter": _l("Click filter"),
    "secret": _l("Signing secret"),
    **{one.name: one.label for transport in all_transports().values() for one in transport.settings},
}
# values that say all by themselves
WORDS: Mapping[str, Mapping[str, str]] = {"reason": REASONS, "method": METHODS, "scope": SCOPES}
# words for values that are codes, by what they are values of
VALUES: Mapping[str, Mapping[str, str]] = {
    "format": {"csv": "CSV", "json": "JSON", "ndjson": "NDJSON"},
    "report": {
        "overview": _l("Overview"),
        "hour": _l("Hour"),
        "clicks": _l("Clicks"),
        **{dimension: words.many for dimension, words in DIMENSION_WORDS.items()},
    },
    "role": ROLES,
    "type": {type_: transport.label for type_, transport in all_transports().items()},
    "language": dashboard_languages(),
    "report_period": REPORT_PERIODS,
}
OPERATOR, WAYPOST, NOBODY = (
    _l("The operator, on the command line"),
    "Waypost",
    _l("A visitor who is not signed in"),
)
OTHER_USER = _l("Another user of this Waypost")


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


def describe_entry(entry: AuditEntry, reader: AuditReader) -> EntryWords:
    seen = visible_values(entry, reader)
    return EntryWords(
        entry.id,
        entry.datetime,
        Badge(str(ACTION_LABELS.get(entry.action, entry.action)), tone_of(entry.action)),
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
        return OTHER_USER
    if entry.actor_way == "api" and entry.actor_id is not None:
        return f"{entry.actor_email} ({entry.actor_name}, {entry.key_prefix}…)"
    if entry.actor_id is not None:
        return entry.actor_email
    if entry.actor_way == "command":
        return f"{OPERATOR} ({entry.actor_name})"
    return NOBODY if entry.network else WAYPOST


def describe_changes(changes: Mapping[str, Any]) -> Iterator[str]:
    for name, value in changes.items():
        if name in WORDS and value in WORDS[name]:
            yield WORDS[name][value]
        else:
            yield f"{LABELS.get(name, name)}: {describe_value(name, value)}"


def describe_value(name: str, value: Any) -> str:
    if name == "fields":
        return ", ".join(str(LABELS.get(field, field)) for field in value)
    if isinstance(value, list) and len(value) == 2:
        return f"{value_text(name, value[0])} → {value_text(name, value[1])}"
    return value_text(name, value)


def value_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if value is None or value == "":
        return "–"
    if isinstance(value, str):
        return str(VALUES.get(name, {}).get(value, value))
    return json.dumps(value, ensure_ascii=False)
