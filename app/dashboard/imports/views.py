"""Pages of imports: upload, choice of columns, preview, progress and result."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from flask import (
    Response,
    abort,
    make_response,
    redirect,
    render_template,
    request,
    stream_with_context,
    url_for,
)
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app.accounts.access import get_owned, require
from app.audit.services import record
from app.core.clock import now
from app.core.csv_files import csv_pieces, unescape_text
from app.core.database import begin_write, reread
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.auth.reauthentication import require_recent_password
from app.dashboard.imports.upload import receive
from app.dashboard.links.filters import LISTING
from app.dashboard.links.history import OTHER_PICTURE, PICTURE, FieldChange, words_of_secret
from app.dashboard.links.rows import own_host
from app.dashboard.shared import list_params, rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.rendering import full_local_time
from app.dashboard.shared.workspace import current_access, may_use, workspace_id
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.import_export import columns, dates, files, preview, services
from app.import_export.cells import hide_secrets
from app.import_export.columns import COLUMNS
from app.import_export.exporter import KINDS, export
from app.import_export.files import require_room
from app.import_export.models import UNFINISHED, FailedRow, LinkImport, PreviewRow
from app.import_export.readers.reader import UnreadableTable
from app.import_export.rows import DATES, ONLY_NEW
from app.import_export.tables import TableFormat, open_table
from app.links.history import PICTURES
from app.links.schema import SETTINGS, LinkSetting
from app.web import application, urls
from app.web.body import read_list_query

COUNTERS: Mapping[str, str] = MappingProxyType({kind: counter for counter, kind in preview.KINDS.items()})
#: in the order in which they are shown
KIND_WORDS = {"new": _l("New"), "changed": _l("Changed"), "unchanged": _l("Unchanged"), "wrong": _l("Wrong")}
ADDED_WORDS = {**KIND_WORDS, "unchanged": _l("Already there")}
NONE = LinkSetting()


class Kind(NamedTuple):
    """One kind of rows: its word, its count, and whether its rows are shown now."""

    name: str
    word: str
    rows: int
    is_shown: bool


class PreviewPage(NamedTuple):
    """A page of the rows of one kind. `listed`: how many of the kind can be shown at all."""

    kinds: Sequence[Kind]
    kind: str
    rows: Sequence[PreviewRow]
    failed: Sequence[FailedRow]
    page: int
    pages: int
    listed: int
    total: int


def read_page(job: LinkImport, params: Mapping[str, Any]) -> PreviewPage:
    """The page that the address names; the first one of the most telling kind where it names none."""
    counts = {
        kind: int(getattr(job, COUNTERS[kind])) for kind in KIND_WORDS if job.is_update or kind != "changed"
    }
    listed = {**preview.count_listed(job), "wrong": job.failed}
    kind = str(params.get("kind", ""))
    if kind not in counts:
        kind = next((name for name in ("changed", "wrong", "new", "unchanged") if counts.get(name)), "new")
    pages = max(1, -(-listed.get(kind, 0) // preview.PAGE_SIZE))
    page = min(number_of(params.get("page")), pages)
    is_wrong = kind == "wrong"
    words = KIND_WORDS if job.is_update else ADDED_WORDS
    return PreviewPage(
        kinds=[Kind(name, words[name], count, name == kind) for name, count in counts.items()],
        kind=kind,
        rows=[] if is_wrong else preview.page_of(job, kind, page),
        failed=services.listed_rows(job, preview.PAGE_SIZE, is_made=False, page=page) if is_wrong else [],
        page=page,
        pages=pages,
        listed=listed.get(kind, 0),
        total=counts[kind],
    )


def number_of(text: object) -> int:
    """The number of a page; the first one for anything else."""
    found = str(text or "")
    return max(1, int(found)) if found.isascii() and found.isdigit() and len(found) < 9 else 1


def untouched(job: LinkImport) -> list[str]:
    """The labels of columns that are read, and change no link that exists."""
    named = [name for name in job.columns if name in ONLY_NEW and name not in services.NAMING]
    return [str(COLUMNS[name].label) for name in named]


def field_changes(row: PreviewRow, zone: dt.tzinfo) -> list[FieldChange]:
    """The differences of a row in words."""
    return [words_of_field(name, before, after, zone) for name, before, after in row.differences]


def words_of_field(name: str, before: Any, after: Any, zone: dt.tzinfo) -> FieldChange:
    label = str(COLUMNS[name].label) if name in COLUMNS else name
    if name == "password_hash":
        return FieldChange(label, *words_of_secret(before, after))
    if name in PICTURES:
        another = OTHER_PICTURE if before else PICTURE
        return FieldChange(label, str(PICTURE) if before else "", str(another) if after else "")
    return FieldChange(label, value_words(name, before, zone), value_words(name, after, zone))


def value_words(name: str, value: Any, zone: dt.tzinfo) -> str:
    if value is None or value in ("", []):
        return own_host() if name == "domain" else ""
    if isinstance(value, bool):
        return _("On") if value else _("Off")
    if name in DATES:
        return full_local_time(dt.datetime.fromisoformat(value).replace(tzinfo=dt.UTC), zone)
    if isinstance(value, list):
        return ("\n" if name == "targeting" else ", ").join(member_words(name, member) for member in value)
    return str(SETTINGS.get(name, NONE).choices.get(value, value))


def member_words(name: str, member: Any) -> str:
    """One pair of a targeting list, or the name of one tag, pixel or handler."""
    if not isinstance(member, list) or not member:
        return str(member)
    return " → ".join(map(str, member)) if name == "targeting" else str(member[-1])


FOLDER = "dashboard/imports"
SHOWN = 100  # rows that became links and need a look
EXAMPLES = 3
LISTED = 50
UNDER_WAY = ("checking", "taking")


@blueprint.get("/imports/", endpoint="imports")
def show_list(problem: str = "", status: int = 200) -> ResponseReturnValue:
    mine = select(LinkImport).where(LinkImport.workspace_id == workspace_id()).order_by(LinkImport.id.desc())
    found = db.session.scalars(mine.limit(LISTED)).all()
    return render_page(
        "list", status, jobs=found, problem=problem, zone=rendering.owner_zone(), services=columns.SERVICES
    )


@blueprint.post("/imports/", endpoint="imports_write")
def bring() -> ResponseReturnValue:
    """Store the uploaded file for the worker, and look at its format. No link is created yet."""
    path = files.new_file(application.settings().data_dir)
    try:
        require_room(path.parent, request.content_length or 0)
        services.require_few(current_access())
        db.session.rollback()  # no transaction stays open during the upload
        name = receive(path)
        if name is None:
            return show_list(_("Choose a file first."), 422)
        looked = services.look(path, is_hasty=True)
        files.store(db.session, path)
        begin_write(db.session)
        job = services.bring(current_access(), path, name, looked, request.host)
    except Invalid as invalid:
        db.session.rollback()
        return show_list(invalid.errors[0].title, 422)
    db.session.commit()
    return redirect_to_import(job)


@blueprint.get("/imports/<int:id>", endpoint="imports_one")
def show(id: int) -> ResponseReturnValue:
    job = get_own_import(id)
    return naming(job) if job.state == "new" and may_use("imports_check") else one(job)


def one(job: LinkImport) -> Response:
    """Progress and failed rows of an import. The page polls it while it is under way."""
    part = "state" if rendering.is_fragment() else "one"
    return render_page(
        part,
        job=job,
        found=read_page(job, dict(read_list_query())),
        field_changes=lambda row: field_changes(row, rendering.owner_zone()),
        untouched=untouched(job),
        off=services.listed_rows(job, SHOWN, is_made=True),
        off_count=services.count_made_rows(job),
        labels=labels(),
        under_way=UNDER_WAY,
        order_labels=order_labels(),
    )


def naming(job: LinkImport, errors: Sequence[FieldError] = (), status: int = 200) -> ResponseReturnValue:
    """The form that assigns columns to fields, with the first cells of each: headings may tell little."""
    table = table_of(job)
    if table is None:
        abort(404)
    rows = [hide_secrets(row.cells, job.columns) for row in islice(table.rows(), EXAMPLES)]
    chosen = {column: field for field, column in job.columns.items()}
    return render_page(
        "columns",
        status,
        job=job,
        columns=[(name, [row.get(name, "") for row in rows]) for name in table.columns],
        chosen=chosen,
        labels=labels(),
        errors=errors,
        origin=columns.origin_of(table.columns),
        orders=columns.date_orders(table, job.columns),
        order_labels=order_labels(),
    )


@blueprint.post("/imports/<int:id>/check", endpoint="imports_check_write")
def check(id: int) -> ResponseReturnValue:
    """Store the choices, and have the worker check every row. Nothing is created or changed yet."""
    sent = submitted_form()
    fields = {name.removeprefix("column:"): sent.text(name) for name in sent if name.startswith("column:")}
    job, table = get_own_import(id), table_of(get_own_import(id))
    if table is None:
        abort(404)
    orders = columns.date_orders(table, {field: column for column, field in fields.items()})
    begin_write(db.session)
    reread(db.session, job)
    try:
        services.require_new(job)
        existing = services.read_existing(sent.text("existing"), sent.text("empty"))
        services.choose(job, table, fields, orders, sent.text("date_order"), existing)
        job.project = services.project_of(sent.text("project"))
    except Invalid as invalid:
        db.session.rollback()
        job.columns = {field: column for column, field in fields.items() if field}
        job.date_order = order if (order := sent.text("date_order")) in dates.PLACES else ""
        job.is_update = sent.text("existing") == "update"
        job.clears_empty = sent.text("empty") == "clear"
        found = naming(job, invalid.errors, 422)
        db.session.rollback()
        return found
    services.start(job, "checking")
    db.session.commit()
    return redirect_to_import(job)


@blueprint.post("/imports/<int:id>/take", endpoint="imports_take_write")
def take(id: int) -> ResponseReturnValue:
    """Have the worker create and change the links. The page may be closed."""
    return apply_change(id, "checked", lambda job: services.start(job, "taking"))


@blueprint.post("/imports/<int:id>/columns", endpoint="imports_columns_write")
def name_anew(id: int) -> ResponseReturnValue:
    """Go back to the choice of columns."""
    return apply_change(id, "checked", lambda job: services.start(job, "new"))


@blueprint.post("/imports/<int:id>/end", endpoint="imports_end_write")
def end(id: int) -> ResponseReturnValue:
    return apply_change(id, None, services.end)


def apply_change(id: int, state: str | None, change: Callable[[LinkImport], None]) -> ResponseReturnValue:
    """Apply `change` if the import is in `state` (None: unfinished). A form sent twice changes nothing."""
    begin_write(db.session)
    job = get_own_import(id)
    reread(db.session, job)
    if job.state == state or (state is None and job.state in UNFINISHED):
        change(job)
        db.session.commit()
    return redirect_to_import(job)


def get_own_import(id: int) -> LinkImport:
    return get_owned(current_access(), LinkImport, id)


def redirect_to_import(job: LinkImport) -> ResponseReturnValue:
    return redirect(url_for("dashboard.imports_one", id=job.id), 303)


def render_page(name: str, status: int = 200, **context: Any) -> Response:
    body = render_template(f"{FOLDER}/{'_' if name == 'state' else ''}{name}.html", here="imports", **context)
    return make_response(body, status)


def labels() -> dict[str, str]:
    return {field: column.label for field, column in columns.COLUMNS.items()}


def order_labels() -> dict[str, str]:
    return dict(dates.EXAMPLES)


def table_of(job: LinkImport) -> TableFormat | None:
    path = files.path_of(application.settings().data_dir, job.file)
    try:
        files.fetch(db.session, path)
        return open_table(path)
    except (OSError, UnreadableTable, Invalid):
        return None


# --- downloads of links, and of the failed rows of an import


@blueprint.get("/links/export.csv", endpoint="links_export", defaults={"kind": "csv"})
@blueprint.get("/links/export.json", endpoint="links_export", defaults={"kind": "json"})
def export_file(kind: str) -> Response:
    """Those links that the list shows with the same parameters, all pages of it.

    JSON has hashes of passwords and the settings of handlers, so viewers get CSV only.
    """
    if kind == "json":
        require(current_access(), "read_secrets")
    site = urls.links_site()
    note_export("links.exported", format=kind)
    found = export(
        workspace_id(),
        list_params.of_pairs(read_list_query(), several=LISTING.several),
        kind,
        lambda url, domain: urls.short_url_at(domain or site, url),
        LISTING,
    )
    return download(found, KINDS[kind], f"links-{now():%Y-%m-%d}.{kind}")


def note_export(action: str, workspace_id: int | None = None, **changes: str) -> None:
    """In the audit log, before the first byte of the file leaves. Raises PasswordNeeded.

    `workspace_id`: whose rows are in the file, where the page is of no workspace.
    """
    require_recent_password()
    begin_write(db.session)
    record(db.session, action, account=signed_in_user(), workspace_id=workspace_id, **dict[str, Any](changes))
    db.session.commit()


@blueprint.get("/imports/<int:id>/failed.csv", endpoint="imports_failed")
def failed_file(id: int) -> Response:
    """The failed rows as they came, each with its problem, to be corrected and imported again."""
    job = get_own_import(id)
    note_export("failed_rows.exported", format="csv")
    table = table_of(job)
    head = table.columns if table else ()
    return download(csv_pieces(failed_rows(job.id, head)), "text/csv; charset=utf-8", f"failed-{job.id}.csv")


def failed_rows(import_id: int, head: Sequence[str]) -> Iterator[list[Any]]:
    yield [*map(unescape_text, head), "line", "problem"]
    mine = FailedRow.import_id == import_id, FailedRow.is_made.is_(False)
    rows = select(FailedRow).where(*mine).order_by(FailedRow.number)
    for row in db.session.scalars(rows.execution_options(yield_per=500)):
        said = "; ".join(f"{field}: {words}" if field else str(words) for field, words in row.problems)
        # the cells are kept as they came: what was escaped there is not escaped twice here
        yield [*map(unescape_text, row.cells), row.line, said]


def download(pieces: Iterator[str], kind: str, name: str) -> Response:
    response = Response(stream_with_context(pieces), content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
