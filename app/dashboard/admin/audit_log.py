"""Pages of the audit log: an owner's own entries, and for admins those of the instance."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue

from app import bodies
from app.audit.actions import GROUPS
from app.audit.queries import AuditQuery, find_entries, iterate_entries
from app.csv_files import csv_pieces
from app.dashboard import pages
from app.dashboard.admins import admins_only
from app.dashboard.audit_words import GROUP_LABELS, Reader, describe_entry, visible_values
from app.dashboard.exports import download, note_export
from app.dashboard.guard import user
from app.errors import FieldError, Invalid
from app.extensions import db
from app.own_addresses import settings
from app.ownership import MOST
from app.params import ParamReader
from app.reading import Rejected, whole

FILTERS = ("group", "from", "until", "email")
FORMATS: Mapping[str, str] = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}
NO_DAY = "This must be a day, as 2026-11-22."


class Scope(NamedTuple):
    """Which of the two logs: the endpoint of its page, and where its page hangs in the navigation."""

    endpoint: str
    here: str
    is_instance: bool

    def reader(self) -> Reader:
        return Reader(None if self.is_instance else user().id)

    def address(self, suffix: str = "", **query: Any) -> str:
        return url_for(f"dashboard.{self.endpoint}{suffix}", **query)


OWN = Scope("account_audit_log", "account", is_instance=False)
INSTANCE = Scope("instance_audit_log", "instance", is_instance=True)


def register(blueprint: Blueprint) -> None:
    for scope, rule in ((OWN, "/account/audit-log"), (INSTANCE, "/instance/audit-log")):
        for suffix, path, view in (("", "", show), ("_file", "/file.<kind>", send_file)):
            guarded_view = admins_only(view) if scope.is_instance else view
            name = f"{scope.endpoint}{suffix}"
            blueprint.add_url_rule(f"{rule}{path}", name, guarded_view, defaults={"scope": scope})


def show(scope: Scope) -> ResponseReturnValue:
    reader, query = scope.reader(), read_query(scope)
    entries, before = find_entries(db.session, query)
    params = dict(bodies.read_query())
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
        zone=pages.zone(),
    )


def read_query(scope: Scope) -> AuditQuery:
    """What the address asks for. Raises Malformed, Invalid."""
    reader = ParamReader(dict(bodies.read_query()), ignores_empty=True)
    first, last = (reader.read(name, None, read_day) for name in ("from", "until"))
    query = AuditQuery(
        user_id=scope.reader().user_id,
        group=reader.read("group", "", read_group),
        first=start_of(first),
        last=start_of(last + dt.timedelta(days=1)) if last else None,
        email=reader.read("email", "", str) if scope.is_instance else "",
        before=reader.read("before", None, lambda text: whole(text, 1, MOST)),
    )
    reader.require_valid()
    return query


def read_group(text: str) -> str:
    if text not in GROUPS:
        raise Rejected("There is no such kind of entry.", "unknown")
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
    """Where the reader is."""
    return dt.datetime.combine(day, dt.time(), pages.zone()).astimezone(dt.UTC) if day else None


def send_file(scope: Scope, kind: str) -> ResponseReturnValue:
    """All entries that the page shows with the same parameters. Taking them away is an entry itself."""
    if kind not in FORMATS:
        raise Invalid(FieldError("There is no such format.", "unknown", "format"))
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
