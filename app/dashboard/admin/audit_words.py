"""Words for audit entries, without what the reader must not see."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.accounts.forms import REPORT_PERIODS
from app.accounts.keys import SCOPES
from app.accounts.rights import ROLES
from app.audit.actions import ACTIONS, GROUPS, TABLE, USERS
from app.audit.failures import ACTIONS as FAILURES
from app.audit.lists import AuditReader, visible_values
from app.audit.models import AuditEntry
from app.dashboard.links.states import Badge
from app.dashboard.statistics.words import WORDS as DIMENSION_WORDS
from app.i18n.languages import dashboard_languages
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.notifications.transport import all_transports


def worded(messages: Mapping[str, str]) -> dict[str, str]:
    return {name: _l(message) for name, message in messages.items()}


GROUP_LABELS = worded(GROUPS)
LABELS = worded(TABLE["labels"]) | {
    one.name: one.label for transport in all_transports().values() for one in transport.settings
}
# values that say all by themselves
WORDS: Mapping[str, Mapping[str, str]] = {
    "reason": worded(TABLE["reasons"]),
    "method": worded(TABLE["methods"]),
    "scope": SCOPES,
}
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
        Badge(label_of(entry.action), tone_of(entry.action)),
        entry.count,
        describe_actor(entry, reader),
        entry.account_email if reader.user_id is None or entry.account_id != reader.user_id else "",
        seen["object_name"],
        list(describe_changes(seen["changes"])),
        seen["network"],
    )


def label_of(action: str) -> str:
    return _(ACTIONS[action].label) if action in ACTIONS else action


def tone_of(action: str) -> str:
    if action in FAILURES or action == "handler.switched_off":
        return "bad"
    known = ACTIONS.get(action)
    return "warn" if known and (known.group == USERS or action.endswith(".deleted")) else "info"


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
