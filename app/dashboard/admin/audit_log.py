"""Pages of the audit log: a user's entries, for owners a workspace's, for admins the instance's."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from flask import render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts.access import MAX_ID, ROLES
from app.accounts.forms import REPORT_PERIODS
from app.accounts.keys import SCOPES
from app.audit.failures import ACTIONS as FAILURES
from app.audit.lists import AuditQuery, AuditReader, find_entries, iterate_entries, visible_values
from app.audit.models import ACTIONS, GROUPS, TABLE, USERS, AuditEntry
from app.core.csv_files import csv_pieces
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.dashboard.auth.access import admins_only, signed_in_user
from app.dashboard.imports.views import download, note_export
from app.dashboard.links.states import Badge
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import workspace_id
from app.dashboard.statistics.figures import WORDS as DIMENSION_WORDS
from app.i18n.languages import dashboard_languages
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import worded
from app.input.params import ParamReader
from app.input.parsers import Rejected, parse_integer
from app.notifications.transport import all_transports
from app.web.application import settings
from app.web.body import read_params

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


FILTERS = ("group", "from", "until", "email")
FORMATS: Mapping[str, str] = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}
NO_DAY = _l("This must be a day, as 2026-11-22.")


class LogScope(NamedTuple):
    """One of the three logs: the page's entry in the navigation, which names the endpoint, too."""

    here: str

    @property
    def endpoint(self) -> str:
        return f"{self.here}_audit_log"

    @property
    def shows_people(self) -> bool:
        """Whether its entries are of several people, who can be searched for."""
        return self is not OWN

    def reader(self) -> AuditReader:
        if self is INSTANCE:
            return AuditReader(None)
        return AuditReader(signed_in_user().id, workspace_id() if self is WORKSPACE else None)

    def query(self) -> dict[str, int]:
        """Whose entries it has."""
        if self is WORKSPACE:
            return {"workspace_id": workspace_id()}
        return {"user_id": signed_in_user().id} if self is OWN else {}

    def address(self, suffix: str = "", **query: Any) -> str:
        return url_for(f"dashboard.{self.endpoint}{suffix}", **query)


OWN, WORKSPACE, INSTANCE = LogScope("account"), LogScope("workspace"), LogScope("instance")


@blueprint.get("/account/audit-log", endpoint="account_audit_log")
def show_own() -> ResponseReturnValue:
    return render_log(OWN)


@blueprint.get("/workspace/audit-log", endpoint="workspace_audit_log")
def show_workspace() -> ResponseReturnValue:
    return render_log(WORKSPACE)


@blueprint.get("/instance/audit-log", endpoint="instance_audit_log")
@admins_only
def show_instance() -> ResponseReturnValue:
    return render_log(INSTANCE)


@blueprint.get("/account/audit-log/file.<kind>", endpoint="account_audit_log_file")
def send_own_file(kind: str) -> ResponseReturnValue:
    return send_file(OWN, kind)


@blueprint.get("/workspace/audit-log/file.<kind>", endpoint="workspace_audit_log_file")
def send_workspace_file(kind: str) -> ResponseReturnValue:
    return send_file(WORKSPACE, kind)


@blueprint.get("/instance/audit-log/file.<kind>", endpoint="instance_audit_log_file")
@admins_only
def send_instance_file(kind: str) -> ResponseReturnValue:
    return send_file(INSTANCE, kind)


def render_log(scope: LogScope) -> ResponseReturnValue:
    reader, query = scope.reader(), read_query(scope)
    entries, before = find_entries(db.session, query)
    params = read_params()
    filters = {name: params[name] for name in FILTERS if params.get(name)}
    return render_template(
        "dashboard/audit_log/page.html",
        here=scope.here,
        scope=scope,
        entries=[describe_entry(entry, reader) for entry in entries],
        groups=GROUP_LABELS,
        filters=filters,
        kinds=FORMATS,
        next_page=scope.address(**filters, before=before) if before else "",
        first_page=scope.address(**filters) if query.before is not None else "",
        days=settings().audit_log_days,
        zone=rendering.owner_zone(),
    )


def read_query(scope: LogScope) -> AuditQuery:
    """The filters in the address of this request. Raises Malformed, Invalid."""
    reader = ParamReader(read_params(), ignores_empty=True)
    first, last = (reader.read(name, None, read_day) for name in ("from", "until"))
    query = AuditQuery(
        **scope.query(),
        group=reader.read("group", "", read_group),
        first=start_of(first),
        last=start_of(last + dt.timedelta(days=1)) if last else None,
        email=reader.read("email", "", str) if scope.shows_people else "",
        before=reader.read("before", None, lambda text: parse_integer(text, 1, MAX_ID)),
    )
    reader.require_valid()
    return query


def read_group(text: str) -> str:
    if text not in GROUPS:
        raise Rejected(_l("There is no such kind of entry."), "unknown")
    return text


def read_day(text: str) -> dt.date:
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        raise Rejected(NO_DAY, "invalid") from None
    if not 1970 <= day.year <= 9000:
        raise Rejected(NO_DAY, "invalid")
    return day


def start_of(day: dt.date | None) -> dt.datetime | None:
    """The first moment of the day in the reader's time zone, as UTC."""
    return dt.datetime.combine(day, dt.time(), rendering.owner_zone()).astimezone(dt.UTC) if day else None


def send_file(scope: LogScope, kind: str) -> ResponseReturnValue:
    """All entries that the page shows with the same parameters. The export is recorded as an entry itself."""
    if kind not in FORMATS:
        raise Invalid(FieldError(_l("There is no such format."), "unknown", "format"))
    reader, query = scope.reader(), read_query(scope)
    note_export("audit_log.exported", format=kind)
    rows = (visible_values(entry, reader) for entry in iterate_entries(db.session, query))
    lines = csv_pieces(table_of(rows)) if kind == "csv" else ndjson_lines(rows)
    return download(lines, FORMATS[kind], f"audit-log.{kind}")


def table_of(rows: Iterator[dict[str, Any]]) -> Iterator[Iterable[Any]]:
    """The names of the columns, and then the rows."""
    for number, row in enumerate(rows):
        if number == 0:
            yield row
        yield row.values()


def ndjson_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"
